package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// facts are what figures depend on.
type facts struct {
	CPU, System, Go string
	Memory          string // empty where the system doesn't tell it
	Cores           int
	Versions        []string // modules that are compared
	Commit          string
}

// compared are the modules whose versions the page names: all that contestants are made of,
// and what draws the plot. The other peers are of the standard library, and so Go's version.
var compared = []string{
	"github.com/sourcegraph/jsonrpc2", "github.com/creachadair/jrpc2", "github.com/ethereum/go-ethereum",
	"google.golang.org/grpc", "google.golang.org/protobuf", "github.com/modelcontextprotocol/go-sdk", "github.com/mark3labs/mcp-go",
	plotLibrary,
}

const plotLibrary = "gonum.org/v1/plot"

func machine() facts {
	return facts{
		CPU: cpu(), System: kernel(), Memory: memory(), Go: runtime.Version(), Cores: runtime.NumCPU(),
		Versions: versions(), Commit: output("git", "describe", "--always", "--dirty", "--exclude=*"),
	}
}

// cpu reads the processor's name, which Linux tells.
func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, found := strings.Cut(string(text), "model name")
	name, _, _ := strings.Cut(rest, "\n")
	if !found {
		return runtime.GOARCH
	}
	return strings.TrimLeft(name, "\t :")
}

// memory reads how much the machine has, which Linux tells.
func memory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return ""
	}
	var kib float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %g kB", &kib); err != nil {
		return ""
	}
	return size(kib * 1024)
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("%s %s", runtime.GOOS, strings.TrimSpace(string(release)))
}

// versions reads what this program was built with. It links all that is compared.
func versions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var list []string
	for _, m := range info.Deps {
		if slices.Contains(compared, m.Path) {
			list = append(list, module(m))
		}
	}
	return list
}

func module(m *debug.Module) string {
	text := m.Path + " " + m.Version
	if m.Path == plotLibrary {
		text += ", which draws the plot"
	}
	return text
}

// output returns what a command says; "unknown" where it fails.
func output(name string, args ...string) string {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
