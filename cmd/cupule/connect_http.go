package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

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
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := poster().Do(req)
	if err != nil {
		return nil, notConnected(address, err)
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

// checkURL keeps a token from going over a network in the clear.
func checkURL(address, token string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return usagef("--connect %s: this is no URL with a host", address)
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && token != "" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--connect %s: a token goes to another machine over https only", address)
	}
	return nil
}

// notConnected tells a connection that failed from an answer that did not come.
func notConnected(address string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &registry.Error{Kind: registry.KindUnavailable, Message: "no connection to " + address, Ran: registry.NotSent, Err: err}
	}
	return err
}

func readReply(resp *http.Response) (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxReply {
		return nil, &registry.Error{Kind: registry.KindOutputTooLarge, Ran: registry.Completed, Message: "the reply is too large",
			Limit: &registry.Limit{Name: "reply", Whose: "client", Bytes: maxReply}}
	}
	message, err := jsonrpcserver.Parse(body)
	if err == nil && message.Error != nil {
		return nil, message.Error
	}
	if err != nil || message.Result == nil {
		return nil, &registry.Error{Kind: registry.KindUpstreamError, Ran: registry.Sent,
			Message: fmt.Sprintf("the reply, with HTTP status %d, is no JSON-RPC response", resp.StatusCode)}
	}
	return message.Result, nil
}
