package jsonrpcserver

import "net/http"

// seat lets a request over HTTP/2 in, which runs no call yet: one of each connection, and
// of those beyond that as many together as there may be connections. So requests that are
// begun and left, on however many streams, cost what as many connections would. Whoever
// calls it calls unseat, whatever it returns, when the request runs a call or has ended.
func (s *Server) seat(a *account) bool {
	return a.seated.Add(1) == 1 || s.seated.Add(1) <= int64(s.opts.MaxConnections)
}

func (s *Server) unseat(a *account) {
	if a.seated.Add(-1) > 0 {
		s.seated.Add(-1)
	}
}

// crowdedOut answers a request that finds no seat, without a body: a client can keep that
// from being sent.
func (h *web) crowdedOut(w http.ResponseWriter, a *account) {
	h.server.unseat(a)
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}
