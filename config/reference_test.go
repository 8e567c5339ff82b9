package config

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReference keeps docs/configuration.md equal to the description of the keys.
func TestReference(t *testing.T) {
	const page = "../docs/configuration.md"
	want := referencePage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")))); diff != "" {
		t.Errorf("docs/configuration.md is stale, run go test ./config -update:\n%s", diff)
	}
}

// Every key has an explanation that reads as sentences, and what is optional says what
// holds without it.
func TestEveryKeyIsExplained(t *testing.T) {
	walk(file, "", func(path string, f field) {
		if f.doc == "" || !strings.HasSuffix(f.doc, ".") || strings.ToUpper(f.doc[:1]) != f.doc[:1] && !strings.HasPrefix(f.doc, "http") {
			t.Errorf("%s: %q", path, f.doc)
		}
		if f.shape.says == "" {
			t.Errorf("%s doesn't say what it is", path)
		}
	})
}

// walk visits the fields below a shape.
func walk(s *shape, path string, visit func(path string, f field)) {
	switch {
	case s.elem != nil && s.kind == kindMap:
		walk(s.elem, path+"."+s.key, visit)
	case s.elem != nil && s.kind == kindList:
		walk(s.elem, path+"[]", visit)
	}
	for _, f := range s.fields {
		name := strings.TrimPrefix(path+"."+f.name, ".")
		visit(name, f)
		walk(f.shape, name, visit)
	}
}

// reference writes the page from the description of the keys.
func referencePage() []byte {
	var b bytes.Buffer
	b.WriteString(referenceTop)
	section(&b, file, "")
	b.WriteString(referenceEnd)
	return b.Bytes()
}

// section writes the table of one object, then the sections of the objects in it.
func section(b *bytes.Buffer, s *shape, path string) {
	title := "The file"
	if path != "" {
		title = "`" + path + "`"
	}
	fmt.Fprintf(b, "\n## %s\n\n| key | value | without it | meaning |\n|---|---|---|---|\n", title)
	for _, f := range s.fields {
		otherwise := f.otherwise
		if f.required {
			otherwise = "**required**"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, cell(valueText(f.shape)), cell(otherwise), cell(f.doc))
	}
	for _, f := range s.fields {
		nested(b, f.shape, strings.TrimPrefix(path+"."+f.name, "."))
	}
}

func nested(b *bytes.Buffer, s *shape, path string) {
	switch {
	case s.kind == kindMap:
		nested(b, s.elem, path+"."+s.key)
	case s.kind == kindList:
		nested(b, s.elem, path+"[]")
	case s.kind == kindObject:
		section(b, s, path)
	}
}

func valueText(s *shape) string {
	text := s.says
	switch {
	case s.kind == kindCount:
		text = fmt.Sprintf("a whole number from %d to %d", s.min, s.max)
	case s.kind == kindSeconds:
		text += fmt.Sprintf(" above 0, at most %d", s.max/1e9)
	case s.kind == kindSize:
		text += ", at most " + sizeText(s.max)
	case s.enum != nil:
		text += ": `" + strings.Join(s.enum, "`, `") + "`"
	}
	if s.example != "" && s.kind != kindFlag && s.kind != kindSize {
		text += ", as `" + s.example + "`"
	}
	return text
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const referenceTop = `# Configuration

Every key of the configuration file. This page is written from the same description as the
parser and the JSON Schema (` + "`cupule schema`" + `); [examples/app.yaml](../examples/app.yaml) shows the keys at work.

Names in capitals stand for names that you choose. Relative paths start from the folder of the file.
`

const referenceEnd = `
## What is read

- The file is YAML 1.2 in UTF-8, without a byte order mark, at most 1 MiB, one document. ` + "`true` and `false`" + ` are the only
  booleans, numbers are decimal digits, an unquoted date is text, nothing is converted: ` + "`timeout: \"30\"`" + ` is wrong.
- Unknown and duplicate keys, null, tags such as ` + "`!!str`" + `, directives such as ` + "`%YAML`" + ` and merge keys (` + "`<<`" + `) are refused. Anchors and
  aliases are read; all aliases of a file together may stand for at most 10,000 values.
- Seconds are plain numbers, fractions allowed. Sizes need a unit: B, KB, MB, GB (powers of 1,000), KiB, MiB, GiB (powers of
  1,024); they come to whole bytes.
- Every problem is reported at once, as ` + "`file:line:column: path: what is wrong, what to write`" + `. Columns count bytes from 1. A wrong
  file is not applied in part.

## Names

- Aliases of servers and names of callers: up to 64 lower-case letters, digits, ` + "`_` and `-`" + `, beginning with a letter or digit.
- Operations: dotted words of letters, digits, ` + "`_` and `-`" + `, up to 128 bytes; ` + "`rpc.` and `$/`" + ` are reserved.
- Tools and prompts: as the server spells them. Resources: a URI, or its beginning and ` + "`*`" + `. An exact name wins over a pattern, a
  longer pattern over a shorter one.
- Variables: letters, digits and ` + "`_`" + `, not beginning with a digit.

## Secrets

The file holds names of environment variables, never values. What looks like a secret is refused wherever it stands: tokens with
their issuer's mark (` + "`sk-`, `ghp_`, `github_pat_`, `xoxb-`, `AKIA`, `eyJ`" + ` and others) anywhere, random-looking text in place of a variable's
name, values of flags such as ` + "`--token`" + `, ` + "`Bearer`" + ` values and passwords in arguments and URLs. Messages never quote them.

Arguments are passed as they are written: no variable is expanded in them.

## Effects

` + "`network_read`, `mutation`, `inference`, `credentials`, `process`" + `. They have to be declared; ` + "`[]`" + ` says that there are none. An operation with a
tool inherits the tool's effects, or declares its own, which must cover the tool's. Only ` + "`mutation` and `inference`" + ` can be authorized;
` + "`network_read`" + ` needs a caller that is not offline; ` + "`credentials` and `process`" + ` are never available, and ` + "`cupule check`" + ` warns of them.

## Listeners

- ` + "`http://HOST:PORT/rpc`, `https://HOST:PORT/rpc`, `tcp://HOST:PORT`, `unix:PATH` and `stdio`" + `. The path ` + "`/rpc`" + ` may be left out or chosen
  otherwise; port 0 lets the system choose.
- TCP and HTTP need a caller with ` + "`token_env`, or `anonymous: true`" + `. Off loopback they need TLS, or ` + "`behind_proxy: true`" + `. ` + "`https://`" + ` needs
  ` + "`tls`; `tcp://`" + ` may have it.
- The absolute path of a unix socket has at most 107 bytes. An address stands once.
- SIGHUP reads the file and the certificates anew. Addresses, and what else stands beside them, take effect at the next start.
- The server's limits don't stand in the file: a message has at most 1 MiB, a batch 128 messages and 8 MiB of results, a connection 256 calls in
  flight and 4 MiB of their requests, all together 4,096 calls, and there are at most 1,024 connections over a network and as many on unix
  sockets. A program that embeds Cupule may set others, and the deadlines, with ` + "`jsonrpcserver.Options`" + `.

## Rotating tokens

A token is looked up when it is used. ` + "`cupule serve`" + ` sees the variables with which it was started, so start it with the next token in
a second variable, name that in ` + "`token_env`" + ` when the time comes, and send SIGHUP: open connections learn of it with their next request. A
program that embeds Cupule may look tokens up elsewhere, with ` + "`Options.LookupEnv`" + `.

## Warnings

` + "`cupule check`" + ` also tells what will fail at use, which is no reason to refuse a file: variables that are not set, commands that are not
found, effects that make every call denied, servers on which nothing is allowed, callers without a token or with the token of
another, patterns that match no operation, arguments that look as if they were to be expanded.
`
