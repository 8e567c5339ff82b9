package mcptest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The first argument of a child begins with one of these.
const (
	childFlag = "-mcptest="
	holdFlag  = "-mcptest-hold="
)

// longestArgument is what the system lets one argument be, less a little.
const longestArgument = 120 << 10

// Command returns how to run the script as a child: this executable, with the script in its arguments.
// Its main, or its TestMain, must call Main first. It panics where the script makes no sense,
// or is too long for an argument (about 60 KB, compressed).
func (s Script) Command() (path string, args []string) {
	if err := s.check(stdio); err != nil {
		panic(err)
	}
	// Hexadecimal, since a configuration refuses arguments that look like secrets.
	var b strings.Builder
	pack, _ := flate.NewWriter(hex.NewEncoder(&b), flate.BestSpeed)
	_, _ = pack.Write(encode(s))
	_ = pack.Close()
	if b.Len() > longestArgument {
		panic(fmt.Sprintf("mcptest: the script is too long for an argument: %d bytes; use Size for large results", b.Len()))
	}
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path, []string{childFlag + b.String()}
}

// Main runs this process as a server and ends it, if that is what it was started for by a
// Command; otherwise it does nothing. Call it first in TestMain.
func Main() {
	if len(os.Args) < 2 {
		return
	}
	if text, ok := strings.CutPrefix(os.Args[1], childFlag); ok {
		s, err := unpack(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "mcptest: the argument is no script:", err)
			exit(2)
		}
		exit(s.runChild())
	}
	if mode, ok := strings.CutPrefix(os.Args[1], holdFlag); ok {
		runHolder(mode, os.Args[2])
		exit(0)
	}
}

// exit ends the process without the second that the race detector adds to os.Exit.
func exit(code int) { syscall.Exit(code) }

// compact does to a script over HTTP what the way through an argument does to one of a child.
func (s *Script) compact() {
	var same Script
	if json.Unmarshal(encode(s), &same) == nil {
		*s = same
	}
}

func unpack(text string) (s Script, err error) {
	data, err := io.ReadAll(flate.NewReader(hex.NewDecoder(strings.NewReader(text))))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

func (s Script) runChild() int {
	time.AfterFunc(orElse(s.Life, Lifetime), func() { exit(98) })
	record := &recorder{path: s.Record}
	if s.Record == "" {
		record.path = os.DevNull
	}
	dir, _ := os.Getwd()
	record.add(Event{Kind: Started, PID: os.Getpid(), Args: os.Args, Env: os.Environ(), Dir: dir})
	p := newPeer(s, record)
	p.serve(os.Stdin, &lineWire{out: os.Stdout, exit: exit})
	record.add(Event{Kind: Ended, PID: os.Getpid()})
	if p.is(&p.ignoreEOF) {
		select {}
	}
	return 0
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

// serve answers what comes in, until there is no more.
func (p *peer) serve(r io.Reader, w wire) {
	ctx, cancel := context.WithCancel(context.Background())
	var turns sync.WaitGroup
	defer turns.Wait()
	defer cancel()
	p.at(Start, ctx, w).run()
	for in := bufio.NewReaderSize(r, 64<<10); ; {
		if p.is(&p.deaf) {
			select {}
		}
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.take(ctx, w, line, &turns)
		}
		if err != nil {
			break
		}
	}
	p.at(Close, ctx, w).run()
}

func (p *peer) take(ctx context.Context, w wire, line []byte, turns *sync.WaitGroup) {
	m, err := parse(line)
	p.record.received(m, "", nil)
	if err != nil {
		_ = w.send([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`), true)
		return
	}
	t := p.receive(ctx, w, m, p.is(&p.initialized))
	switch {
	case t == nil:
	case t.has(StopReading):
		t.run() // before the next message is read
	case t.long():
		turns.Go(t.run)
	default:
		t.run()
	}
}

// lineWire writes one message a line.
type lineWire struct {
	exit func(int)

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

func (w *lineWire) send(message []byte, _ bool) error {
	return w.stream(func(out io.Writer) error {
		_, err := out.Write(append(message[:len(message):len(message)], '\n'))
		return err
	})
}

func (w *lineWire) stream(write func(io.Writer) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return write(w.out)
}

func (w *lineWire) abort(code int) { w.exit(code) }
