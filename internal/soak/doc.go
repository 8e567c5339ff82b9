// Package soak runs the outbound client for a long time against servers of which some are
// broken, and looks at what is left. It holds a test only, which does nothing unless it
// is told how many sessions to run:
//
//	go test -v -timeout 60m ./internal/soak -sessions 10000
//
// That is 10,000 sessions of one operation over stdio and as many over HTTP, 5% of them
// with a fault. It fails where a healthy call gets a wrong answer, where memory grows, or
// where a goroutine, descriptor or child is left, and tells how far past its deadline a
// caller came back at worst.
package soak
