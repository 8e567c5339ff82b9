package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/registry"
)

// postCall makes one call over HTTP.
func postCall(ctx context.Context, address, token, operation string, params json.RawMessage) (json.RawMessage, error) {
	if err := checkURL(address, token); err != nil {
		return nil, err
	}
	message, err := jsonrpcserver.NewRequest(jsonrpcserver.NumberID(callID), operation, rawOrNothing(params))
	if err != nil {
		return nil, usageError{err}
	}
	body, err := message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, usageError{err}
	}
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	req = req.WithContext(httptrace.WithClientTrace(ctx, trace))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := poster().Do(req)
	if err != nil && !sent.Load() {
		return nil, notSent(ctx, address, err)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readReply(resp)
}

// poster is a client that goes where it is told, and nowhere else.
func poster() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: dialWait}).DialContext, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: dialWait,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkURL keeps a token from going over a network in the clear, and from a URL.
func checkURL(address, token string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return usagef("--connect %s: this is no URL with a host", address)
	}
	if u.User != nil {
		return usagef("--connect: a URL with a user and a password has no meaning here: write a bearer token into a variable, and name that with --token-env")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && token != "" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--connect %s: a token goes to another machine over https only", address)
	}
	return nil
}

// notSent is the error of a request of which no byte was written, as where there is no
// connection, or one without a certificate that holds.
func notSent(ctx context.Context, address string, err error) error {
	return &registry.Error{Kind: endOr(ctx, registry.KindUnavailable), Message: "no connection to " + address, Ran: registry.NotSent, Err: err}
}

// statusKinds says what went wrong where a server, or a proxy before it, has only a status
// to tell it.
var statusKinds = map[int]registry.Kind{
	http.StatusUnauthorized: registry.KindUnauthenticated, http.StatusForbidden: registry.KindDenied,
	http.StatusRequestTimeout: registry.KindTimeout, http.StatusGatewayTimeout: registry.KindTimeout,
	http.StatusTooManyRequests: registry.KindOverloaded,
	http.StatusBadGateway:      registry.KindUnavailable, http.StatusServiceUnavailable: registry.KindUnavailable,
}

// noResponse is the error of an answer that is no JSON-RPC response to the call. Whether
// anything ran isn't known.
func noResponse(resp *http.Response) error {
	failure := &registry.Error{Kind: registry.KindUpstreamError, Ran: registry.Sent,
		Message: fmt.Sprintf("the reply, with HTTP status %d, is no JSON-RPC response to the call", resp.StatusCode)}
	if kind, known := statusKinds[resp.StatusCode]; known {
		failure.Kind = kind
	}
	if resp.StatusCode == http.StatusNotFound {
		failure.Message += ": is the path the one that is served? It is /rpc where nothing else is configured"
	}
	return failure
}

func readReply(resp *http.Response) (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxReply {
		return nil, replyTooLarge()
	}
	message, err := jsonrpcserver.Parse(body)
	switch {
	case err != nil, message.Method != "":
		return nil, noResponse(resp)
	case message.Error != nil && (message.ID.IsNull() || message.ID == jsonrpcserver.NumberID(callID)):
		return nil, message.Error // with id null where the request could not be read
	case message.Result == nil || message.ID != jsonrpcserver.NumberID(callID):
		return nil, noResponse(resp)
	}
	return message.Result, nil
}
