// Package config reads the file that says what a service may reach and what it serves.
//
// A configuration gives authority, so it is read strictly: whatever is not plainly meant
// is a problem, every problem is reported at once with its place, and nothing is applied
// by halves.
//
//	cfg, err := config.Load("app.yaml")
//	if err != nil {
//		return err // app.yaml:7:9: mcp.library.http.url: plain HTTP is for loopback only: write https://
//	}
//	for _, warning := range cfg.Warnings(nil, nil) {
//		log.Print(warning)
//	}
//	rule := cfg.MCP["library"].Allowed["search"]
//	fmt.Println(rule.Effects, rule.Timeout, rule.Effects.Has(effects.Mutation))
//
// # The path of a file
//
// [Load] reads at most [MaxFile] bytes. The bytes are checked, then yaml.v3 makes a tree
// of nodes, and one walker compares the tree with one description of all keys: types,
// unknown and duplicate keys, null, limits. What holds for several keys together is
// checked last, and only a tree without any problem becomes a [Config]. The description
// also yields [Schema], the JSON Schema for editors, and docs/configuration.md.
//
// Loading reads the one file: no variable is looked up, no command searched, no name
// resolved. [Config.Warnings] does that, on demand.
//
// # YAML that is read
//
// YAML 1.2 as people write it: true and false are the only booleans, numbers are decimal,
// a date is text. Aliases may expand to [MaxExpanded] values; merge keys and tags are
// refused.
//
// # Editing
//
// [AddServer] and [RemoveServer] splice the text, so that every other byte stays as it
// is; [Import] reads the JSON in which other tools keep their servers, and [AddServers]
// adds what it found.
//
// # Concurrency and limits
//
// All functions are safe for concurrent use; a Config is not changed after it was made.
// Two processes may edit one file at the same time. Reading takes time in proportion to
// the file's size, whatever stands in it.
package config
