//go:build !unix

package mcptest

import (
	"os"
	"syscall"
	"time"
)

func ownSession() *syscall.SysProcAttr { return nil }

// awaitBroken writes to the pipe until that fails, or for Lifetime.
func awaitBroken(pipe *os.File) {
	for began := time.Now(); time.Since(began) < Lifetime; time.Sleep(100 * time.Millisecond) {
		if _, err := pipe.WriteString("\n"); err != nil {
			return
		}
	}
}
