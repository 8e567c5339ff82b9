package jsonrpcserver

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// knowsHost reports whether the request names a host that this service goes by. A page
// whose name an attacker points at this machine names another.
func (h *web) knowsHost(r *http.Request) bool {
	if r.ProtoMajor != 1 {
		for _, other := range r.Header["Host"] { // beside :authority, which must be the same
			if !strings.EqualFold(other, r.Host) {
				return false
			}
		}
	}
	host := strings.ToLower(hostOf(r.Host))
	if slices.Contains(h.hosts, host) || slices.Contains(h.hosts, strings.ToLower(r.Host)) {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip.IsLoopback() || ok && local.IP.Equal(ip)
}

// hostOf returns a Host header's value without port and brackets.
func hostOf(value string) string {
	if host, _, err := net.SplitHostPort(value); err == nil {
		value = host
	}
	return strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
}

// knowsOrigin reports whether the page that makes the request, if one does, may make it.
// A page from a listed origin may read the answer too.
func (h *web) knowsOrigin(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	origin := strings.ToLower(origins[0])
	if slices.Contains(h.origins, origin) {
		w.Header().Set("Access-Control-Allow-Origin", origins[0])
		w.Header().Add("Vary", "Origin")
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return u.Host == strings.ToLower(r.Host) && (r.TLS == nil || u.Scheme == "https")
}

// preflight lets a browser post JSON from a listed origin.
func (h *web) preflight(w http.ResponseWriter, r *http.Request) {
	listed := w.Header().Get("Access-Control-Allow-Origin") != ""
	if !listed || r.Header.Get("Access-Control-Request-Method") != http.MethodPost {
		notAllowed(w, http.MethodPost)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type, accept")
	w.WriteHeader(http.StatusNoContent)
}

// checkContent returns what is wrong with the body's type, or "". A page can send other
// types without asking; an encoding could hide more than the limit.
func checkContent(header http.Header) string {
	types := header["Content-Type"]
	if len(types) != 1 {
		return "Content-Type must be application/json"
	}
	if types[0] != "application/json" {
		if reason := checkType(types[0]); reason != "" {
			return reason
		}
	}
	for _, encoding := range header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return "Content-Encoding must be absent"
		}
	}
	return ""
}

func checkType(value string) string {
	kind, params, err := mime.ParseMediaType(value)
	if err != nil || kind != "application/json" {
		return "Content-Type must be application/json"
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "the charset of JSON is utf-8"
	}
	return ""
}

// acceptsEvents reports whether the client asks for server-sent events.
func acceptsEvents(header http.Header) bool {
	for _, value := range header["Accept"] {
		for part := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil || kind != "text/event-stream" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q != 0 {
				return true
			}
		}
	}
	return false
}
