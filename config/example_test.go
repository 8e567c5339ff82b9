package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
)

func ExampleParse() {
	_, err := config.Parse("app.yaml", []byte(`mcp:
  library:
    http:
      url: http://mcp.example.org/mcp
    allowed:
      search: {effects: [network_raed], timeout: 30s}
`))
	var all *config.Error
	if errors.As(err, &all) {
		for _, problem := range all.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// app.yaml:4:12: mcp.library.http.url: plain HTTP is for loopback only: write https://
	// app.yaml:6:26: mcp.library.allowed.search.effects[0]: "network_raed" is not known here, did you mean "network_read": write one of network_read, mutation, inference, credentials, process
	// app.yaml:6:50: mcp.library.allowed.search.timeout: must be a number of seconds without a unit, such as 30 or 1.5, not "30s"
}

func ExampleConfig_Warnings() {
	cfg, err := config.Parse("app.yaml", []byte(`mcp:
  library:
    stdio: {command: library, env: {TOKEN: LIBRARY_TOKEN}}
    allowed:
      search: {effects: [network_read]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	unset := func(string) (string, bool) { return "", false }
	found := func(name string) (string, error) { return "/usr/bin/" + name, nil }
	for _, warning := range cfg.Warnings(unset, found) {
		fmt.Println(warning)
	}
	rule := cfg.MCP["library"].Allowed["search"]
	fmt.Println(rule.Effects, rule.Timeout, rule.Declared.Of(effects.NetworkRead))
	// Output:
	// app.yaml:3:37: mcp.library.stdio.env.TOKEN: the variable LIBRARY_TOKEN is not set
	// network_read 30s app.yaml:5:26
}

func ExampleImport() {
	found, err := config.Import([]byte(`{"mcpServers": {
		"GitHub": {"command": "npx", "args": ["-y", "server-github"], "env": {"GITHUB_TOKEN": "a literal"}}
	}}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "app.yaml")
	if err := config.AddServers(file, found.Servers); err != nil {
		fmt.Println(err)
		return
	}
	text, _ := os.ReadFile(file)
	fmt.Print(string(text))
	for _, v := range found.Variables {
		fmt.Println("set", v.Name, "for", v.Server)
	}
	for _, note := range found.Notes {
		fmt.Println(note)
	}
	// Output:
	// mcp:
	//   github:
	//     stdio:
	//       command: npx
	//       args: [-y, server-github]
	//       env:
	//         GITHUB_TOKEN: GITHUB_TOKEN
	//         HOME: HOME
	//         PATH: PATH
	//     startup: 60
	//     allowed: {}
	// set GITHUB_TOKEN for github
	// GitHub: its alias here is github
}
