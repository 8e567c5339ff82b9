// contestant runs one contestant in a process of its own. The report starts it:
//
//	contestant serve NAME ADDRESS [CHILD]   a server, which reports what it has used so far
//	contestant call NAME CHILD|URL SIZE     an MCP client, which makes the calls of an order
//
// Both take orders on standard input until its end.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
	"github.com/cupule/cupule/bench/internal/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatalf("contestant %q: %v", os.Args[1:], err)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 3 && args[0] == "serve":
		return serve(args[1], args[2], args[3:])
	case len(args) == 4 && args[0] == "call":
		return call(args[1], args[2], args[3])
	}
	return errors.New("want serve NAME ADDRESS [CHILD], or call NAME CHILD|URL SIZE")
}

func serve(name, address string, child []string) error {
	s, err := servers.Find(name)
	if err != nil {
		return err
	}
	stop, err := s.Serve(servers.Place{Address: address, Child: strings.Join(child, "")})
	if err != nil {
		return err
	}
	return errors.Join(worker.Serve(os.Stdin, os.Stdout, nil), stop())
}

func call(name, at, size string) error {
	c, err := clients.Find(name)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return fmt.Errorf("size: %w", err)
	}
	t := clients.Target{Child: at, Size: n}
	if strings.HasPrefix(at, "http://") {
		t = clients.Target{URL: at, Size: n}
	}
	once, closing, err := c.Open(t)
	if err != nil {
		return err
	}
	return errors.Join(worker.Serve(os.Stdin, os.Stdout, work(once)), closing())
}

// work makes the calls of an order, and returns the time of one.
func work(once func() error) func(worker.Order) (time.Duration, error) {
	return func(o worker.Order) (time.Duration, error) {
		if o.Pause > 0 {
			return measure.Paced(o.Calls, o.Pause, once)
		}
		took, err := measure.Calls(o.Load, func(int) error { return once() })
		return took / time.Duration(o.Calls), err
	}
}
