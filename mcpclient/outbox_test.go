//go:build unix

package mcpclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

func newPipedOutbox(t *testing.T) (*outbox, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := newOutbox(w)
	t.Cleanup(func() {
		o.close()
		_ = r.Close()
		<-o.done
	})
	return o, r
}

func frameOf(text string) *parcel {
	buf := []byte(text + "\n")
	return &parcel{buf: &buf}
}

func (o *outbox) putAll(t *testing.T, list ...*parcel) {
	t.Helper()
	for _, p := range list {
		if err := o.put(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// A small frame is written before put returns, so that a call which is cancelled then was sent.
func TestSmallFrameIsWrittenAtOnce(t *testing.T) {
	o, _ := newPipedOutbox(t)
	p := frameOf("small")
	o.putAll(t, p)
	if p.state.Load() != written || p.ran() != registry.Sent {
		t.Error("the frame was not written by its caller")
	}
}

// Nobody waits for a peer that doesn't read, and what it reads in the end is whole and in order.
func TestFramesStayInOrder(t *testing.T) {
	o, r := newPipedOutbox(t)
	var sent []string
	for i := range outboxQueue / 2 {
		text := fmt.Sprint("small ", i)
		switch i % 8 {
		case 3:
			text = fmt.Sprint("large ", i, " ", strings.Repeat("x", 3*outboxBatch))
		case 5:
			text = fmt.Sprint("middle ", i, " ", strings.Repeat("x", atomicWrite()))
		}
		sent = append(sent, text)
		o.putAll(t, frameOf(text))
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for i, want := range sent {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("frame %d is %.40q, want %.40q", i, lines.Text(), want)
		}
	}
}

// Frames of many callers do not mix, whoever writes them.
func TestFramesOfManyCallers(t *testing.T) {
	o, r := newPipedOutbox(t)
	const callers, each = 8, 200
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				o.putAll(t, frameOf(fmt.Sprint(c, " ", i, " ", strings.Repeat("y", 50*(i%100)))))
			}
		})
	}
	next := make([]int, callers)
	lines := bufio.NewScanner(r)
	for range callers * each {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		caller, rest, _ := strings.Cut(lines.Text(), " ")
		c, _ := strconv.Atoi(caller)
		i := next[c]
		next[c]++
		if want := fmt.Sprint(i, " ", strings.Repeat("y", 50*(i%100))); rest != want {
			t.Fatalf("%.60q of caller %q, want %.60q", rest, caller, want)
		}
	}
	all.Wait()
}

// While the peer doesn't read, a frame can still be taken back, and its caller is free.
func TestWaitingFrameIsWithdrawn(t *testing.T) {
	o, r := newPipedOutbox(t)
	o.putAll(t, frameOf(strings.Repeat("x", 4<<20)))
	p := frameOf("withdrawn")
	o.putAll(t, p, frameOf("kept"))
	if p.ran() != registry.NotSent {
		t.Error("a frame that waits could not be taken back")
	}
	full, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for full.Err() == nil {
		_ = o.put(full, frameOf("more"))
	}
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); err != nil || len(line) != 4<<20+1 {
		t.Fatal(len(line), err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "kept\n" {
		t.Errorf("%q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
}

// A frame to a peer that is gone was not sent.
func TestPeerOfFrameIsGone(t *testing.T) {
	o, r := newPipedOutbox(t)
	_ = r.Close()
	p := frameOf("nobody reads this")
	_ = o.put(context.Background(), p)
	<-o.done
	if p.ran() != registry.NotSent || o.err == nil {
		t.Errorf("%v, %v", p.ran(), o.err)
	}
}
