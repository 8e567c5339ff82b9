//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyHangup sends to hangup at each signal that asks for the file to be loaded anew.
func notifyHangup(hangup chan<- os.Signal) { signal.Notify(hangup, syscall.SIGHUP) }
