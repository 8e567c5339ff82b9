package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for line, want := range map[string]settings{
		"":                       {},
		"-only whole -check":     {only: "whole", check: true},
		"-short -check":          {short: true, check: true},
		"-docs elsewhere":        {docs: "elsewhere"},
		"-only large -docs here": {only: "large", docs: "here"},
	} {
		var out strings.Builder
		got, err := parse(strings.Fields(line), &out)
		if err != nil || got != want || out.Len() > 0 {
			t.Errorf("%s: %+v, %v, %s", line, got, err, &out)
		}
		if command := strings.TrimSpace("go run ./report " + line); got.command() != command {
			t.Errorf("%s: written as %s", line, got.command())
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"inbound":              `what is ["inbound"]? A group is asked for with -only`,
		"-only whole -check x": `what is ["x"]`,
		"-only nothing":        `there is no group "nothing": write -only with one of engine, inbound, outbound, large, whole`,
		"-quick":               "-quick",
	} {
		var out strings.Builder
		if _, err := parse(strings.Fields(line), &out); err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %s", line, err, &out)
		}
	}
	for _, name := range []string{"-only", "-docs"} { // as with a variable that isn't set
		var out strings.Builder
		if _, err := parse([]string{name, ""}, &out); err == nil || !strings.Contains(out.String(), name+" has an empty value") {
			t.Errorf("%s: %v, %s", name, err, &out)
		}
	}
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "inbound") {
		t.Errorf("%v: %s", err, &out)
	}
}

func TestWhereThePageGoes(t *testing.T) {
	for _, test := range []struct {
		settings
		want string
	}{
		{settings{}, docsFolder},
		{settings{check: true}, docsFolder},
		{settings{docs: "x"}, "x"},
		{settings{short: true}, ""},
		{settings{only: "large"}, ""},
		{settings{only: "large", docs: "x"}, "x"},
	} {
		if got := test.folder(); got != test.want {
			t.Errorf("%+v: %q", test.settings, got)
		}
	}
}

func TestTheFolderIsLookedForFirst(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		dir: "", file: "is no folder", filepath.Join(dir, "none"): "there is no folder", filepath.Join(file, "below"): "not a directory",
	} {
		err := settings{docs: folder}.checkFolder()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
		if want == "" {
			continue
		}
		if err := run(t.Context(), settings{docs: folder}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the run says %v", folder, err)
		}
	}
	if err := (settings{short: true}).checkFolder(); err != nil {
		t.Errorf("standard output needs a folder: %v", err)
	}
}

func TestScope(t *testing.T) {
	for want, s := range map[string]settings{
		"":                               {check: true},
		"it holds the group whole alone": {only: "whole"},
		"it was measured in short, with few samples and without the slow tables":                                     {short: true},
		"it holds the group whole alone, and it was measured in short, with few samples and without the slow tables": {only: "whole", short: true},
	} {
		if got := s.scope(); got != want {
			t.Errorf("%+v: %q", s, got)
		}
	}
}
