package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// entry is a key with text, a list or further entries, on its way into a file.
type entry struct {
	key     string
	text    string // already in the file's spelling
	list    []string
	entries []entry
	// inline entries stand in braces where there is room for lines.
	inline bool
}

// blockServer returns the lines that declare a server below a margin, each level a step
// further in.
func blockServer(margin, step string, s *Server) string {
	var b strings.Builder
	writeBlock(&b, margin, step, []entry{{key: s.Alias, entries: serverEntries(s)}})
	return b.String()
}

// flowServer returns a server in braces; with quote every text is quoted, as in JSON.
func flowServer(s *Server, quote bool) string { return flowBraces(serverEntries(s), quote) }

// flowEntry is flowServer with the alias before it.
func flowEntry(s *Server, quote bool) string {
	return flowText(s.Alias, quote) + ": " + flowServer(s, quote)
}

func writeBlock(b *strings.Builder, margin, step string, entries []entry) {
	for _, e := range entries {
		b.WriteString(margin + flowText(e.key, false) + ":")
		if e.text == "" && e.list == nil && len(e.entries) > 0 && !e.inline {
			b.WriteByte('\n')
			writeBlock(b, margin+step, step, e.entries)
			continue
		}
		b.WriteString(" " + e.value(false) + "\n")
	}
}

func (e entry) value(quote bool) string {
	switch {
	case e.text != "":
		return e.text
	case e.list != nil:
		texts := make([]string, len(e.list))
		for i, text := range e.list {
			texts[i] = flowText(text, quote)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return flowBraces(e.entries, quote)
}

func flowBraces(entries []entry, quote bool) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		text := e.value(quote)
		if e.quotable() && quote {
			text = strconv.Quote(e.text)
		}
		parts[i] = flowText(e.key, quote) + ": " + text
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quotable reports whether the text is plain text that JSON would quote.
func (e entry) quotable() bool {
	return e.text != "" && e.text[0] != '"' && e.text != "true" && !decimal.MatchString(e.text)
}

var (
	plainText = regexp.MustCompile(`^(?:[A-Za-z_/]|\.{1,2}/|--?[A-Za-z])[A-Za-z0-9_./@:=+~-]*$`)
	reserved  = regexp.MustCompile(`(?i)^(?:true|false|null|yes|no|on|off|y|n)$`)
)

// flowText spells text so that it is read back as the same text, in lines and in braces.
func flowText(text string, quote bool) string {
	if !quote && plainText.MatchString(text) && !reserved.MatchString(text) && !strings.HasSuffix(text, ":") {
		return text
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can't fail
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func serverEntries(s *Server) []entry {
	var list []entry
	if s.Stdio != nil {
		list = append(list, entry{key: "stdio", entries: stdioEntries(s.Stdio)})
	}
	if s.HTTP != nil {
		list = append(list, entry{key: "http", entries: httpEntries(s.HTTP)})
	}
	if s.Startup != 0 && s.Startup != DefaultStartup {
		list = append(list, entry{key: "startup", text: secondsText(s.Startup)})
	}
	list = addText(list, "protocol", s.Protocol)
	if session := sessionEntries(s.Session); len(session) > 0 {
		list = append(list, entry{key: "session", entries: session, inline: true})
	}
	if s.Concurrency != 0 {
		list = append(list, entry{key: "concurrency", text: strconv.Itoa(s.Concurrency)})
	}
	list = append(list, entry{key: "allowed", entries: ruleEntries(s.Allowed)})
	if len(s.Resources) > 0 {
		list = append(list, entry{key: "resources", entries: ruleEntries(s.Resources)})
	}
	if len(s.Prompts) > 0 {
		list = append(list, entry{key: "prompts", entries: ruleEntries(s.Prompts)})
	}
	return list
}

func addText(list []entry, key, text string) []entry {
	if text == "" {
		return list
	}
	return append(list, entry{key: key, text: flowText(text, false)})
}

func stdioEntries(s *Stdio) []entry {
	list := []entry{{key: "command", text: flowText(s.Command, false)}}
	if len(s.Args) > 0 {
		list = append(list, entry{key: "args", list: s.Args})
	}
	list = addText(list, "dir", s.Dir)
	return addVariables(list, "env", s.Env)
}

func httpEntries(h *HTTP) []entry {
	list := []entry{{key: "url", text: flowText(h.URL, false)}}
	list = addText(list, "bearer_token_env", h.BearerTokenEnv)
	list = addVariables(list, "headers_env", h.HeadersEnv)
	list = addText(list, "ca_file", h.CAFile)
	return addText(list, "proxy_env", h.ProxyEnv)
}

func addVariables(list []entry, key string, variables map[string]string) []entry {
	if len(variables) == 0 {
		return list
	}
	var entries []entry
	for _, name := range sortedKeys(variables) {
		entries = append(entries, entry{key: name, text: flowText(variables[name], false)})
	}
	return append(list, entry{key: key, entries: entries})
}

func sessionEntries(s Session) []entry {
	var list []entry
	if s.Shared {
		list = append(list, entry{key: "shared", text: "true"})
	}
	if s.Warm != 0 {
		list = append(list, entry{key: "warm", text: strconv.Itoa(s.Warm)})
	}
	if s.Idle != 0 {
		list = append(list, entry{key: "idle", text: secondsText(s.Idle)})
	}
	return list
}

func ruleEntries(rules map[string]*Rule) []entry {
	var list []entry
	for _, name := range sortedKeys(rules) {
		rule := rules[name]
		entries := []entry{{key: "effects", list: rule.Effects.Names()}}
		if rule.Timeout != 0 && rule.Timeout != DefaultTimeout {
			entries = append(entries, entry{key: "timeout", text: secondsText(rule.Timeout)})
		}
		if rule.MaxOutput != 0 && rule.MaxOutput != DefaultMaxOutput {
			entries = append(entries, entry{key: "max_output", text: sizeText(rule.MaxOutput)})
		}
		list = append(list, entry{key: name, entries: entries, inline: true})
	}
	return list
}

// secondsText writes a duration exactly, in seconds.
func secondsText(d time.Duration) string {
	whole, fraction := int64(d/time.Second), int64(d%time.Second)
	if fraction == 0 {
		return strconv.FormatInt(whole, 10)
	}
	if d < 0 {
		return "-1" // refused when the result is checked
	}
	return strings.TrimRight(fmt.Sprintf("%d.%09d", whole, fraction), "0")
}
