//go:build !unix

package main

import "os"

// notifyHangup does nothing: there is no such signal here.
func notifyHangup(chan<- os.Signal) {}

// keepBrokenPipes does nothing, since writing fails with an error.
func keepBrokenPipes() (stop func()) { return func() {} }
