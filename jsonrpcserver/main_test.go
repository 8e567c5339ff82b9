package jsonrpcserver

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when the tests leave goroutines or descriptors behind.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == memoryChild {
		if err := serveForMemory(os.Args[2]); err != nil {
			fmt.Println(err)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == edgeChild {
		if err := serveEdges(); err != nil {
			fmt.Println(err)
		}
		return
	}
	before := descriptors()
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if left := leftovers(before); code == 0 && left != "" {
		fmt.Println(left)
		code = 1
	}
	os.Exit(code)
}

// leftovers waits a while for what is ending, and describes what doesn't.
func leftovers(before int) string {
	for deadline := time.Now().Add(5 * time.Second); ; {
		stacks := strange()
		if stacks == "" && descriptors() <= before+2 {
			return ""
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("left behind: descriptors %d, then %d; goroutines:\n%s", before, descriptors(), stacks)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// strange returns the stacks of goroutines that run code of this module.
func strange() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var list []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "cupule") && !strings.Contains(stack, "TestMain") {
			list = append(list, stack)
		}
	}
	return strings.Join(list, "\n\n")
}

// descriptors counts open files where that is possible.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
