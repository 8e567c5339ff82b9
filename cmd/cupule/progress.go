package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/cupule/cupule/registry"
)

// progressLine shows the progress of a call in one line that is written over, on a
// terminal only.
type progressLine struct {
	mu    sync.Mutex // guards what follows
	to    io.Writer  // nil shows nothing
	shown bool
}

func (c *cli) progressLine() *progressLine {
	if !c.terminal {
		return &progressLine{}
	}
	return &progressLine{to: c.talk}
}

func (l *progressLine) show(p registry.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		return
	}
	text := fmt.Sprintf("%v", p.Progress)
	if p.Total > 0 {
		text = fmt.Sprintf("%v of %v", p.Progress, p.Total)
	}
	fmt.Fprintf(l.to, "\r\x1b[K%s %.60s", text, printable(p.Message))
	l.shown = true
}

func (l *progressLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.to, "\r\x1b[K")
	}
	l.to = nil
}
