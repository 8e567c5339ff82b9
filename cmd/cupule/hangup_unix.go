//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyHangup sends to hangup at each signal that asks for the file to be loaded anew.
func notifyHangup(hangup chan<- os.Signal) { signal.Notify(hangup, syscall.SIGHUP) }

// keepBrokenPipes makes writing to a standard output that nobody reads an error, and not
// the end of the process: there are calls to cancel and children to end.
func keepBrokenPipes() (stop func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}
