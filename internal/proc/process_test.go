package proc

import (
	"bufio"
	"fmt"
	"testing"
	"time"
)

func TestCat(t *testing.T) {
	p, err := Start(Spec{Name: "cat", Path: "/bin/cat"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.Stdin(), "hello")
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	t.Log(line, err)
	t.Logf("%+v", p.Close())
	p, err = Start(Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "echo $$ bad token >&2; setsid sleep 1 & exit 3"}, Env: []string{"PATH=/usr/bin:/bin"}, Secrets: []string{"token"}})
	time.Sleep(50 * time.Millisecond)
	t.Logf("%+v %q", p.Close(), p.Stderr())
	_, err = Start(Spec{Name: "x", Path: "/bin/nope"})
	t.Log(err)
	_, err = Start(Spec{Name: "x", Path: "/bin/"})
	t.Log(err)
	_, err = Start(Spec{Name: "x", Path: "/etc/passwd"})
	t.Log(err)
}
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		p, err := Start(Spec{Path: "/bin/true"})
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
		p.Close()
	}
}
func BenchmarkCat(b *testing.B) {
	for b.Loop() {
		p, err := Start(Spec{Path: "/bin/cat"})
		if err != nil {
			b.Fatal(err)
		}
		if r := p.Close(); r.Stage != OnEOF {
			b.Fatal(r)
		}
	}
}
