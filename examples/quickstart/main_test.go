package main

import (
	"os"
	"testing"
)

// TestQuickstart runs it from the root of the repository, as its reader does.
func TestQuickstart(t *testing.T) {
	t.Chdir("../..")
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("notes.txt"); err == nil {
		t.Error("it left a file behind")
	}
}
