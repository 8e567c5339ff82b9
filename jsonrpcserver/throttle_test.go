package jsonrpcserver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever guesses tokens fills no log: a few lines come each second, and a count of the others.
func TestFailuresAreLoggedSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newServer(t, Backend{}, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 1000 {
			s.failedToAuthenticate("tcp", "peer", "wrong")
		}
		if n := strings.Count(log.String(), "authentication failed"); n != loggedEach {
			t.Errorf("%d lines in one second", n)
		}
		time.Sleep(1001 * time.Millisecond)
		log.Reset()
		s.failedToAuthenticate("tcp", "peer", "wrong")
		if !strings.Contains(log.String(), "left_out=990") {
			t.Error(log.String())
		}
		log.Reset()
		web := s.newWeb(&Listener{endpoint: Endpoint{Scheme: "https"}})
		for range 1000 {
			web.ErrorLog.Printf("http: TLS handshake error from %s: EOF", "peer")
		}
		if n := strings.Count(log.String(), "TLS handshake error from peer: EOF"); n != loggedEach {
			t.Errorf("%d lines of package http in one second", n)
		}
	})
}
