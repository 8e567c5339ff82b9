//go:build !unix

package main

import "os"

// notifyHangup does nothing: there is no such signal here.
func notifyHangup(chan<- os.Signal) {}
