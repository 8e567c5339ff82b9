package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkURL returns what is wrong with the URL of a server. It never quotes the URL: a
// secret may stand in it.
func checkURL(text string) error {
	if len(text) > 4096 {
		return errors.New("the URL is too long: at most 4096 bytes are allowed")
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \\\"<>{}") {
		return errors.New("this is no URL: write one such as https://mcp.example.org/mcp")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return errors.New("a server's URL begins with https://, or with http:// on loopback")
	case u.User != nil:
		return errors.New("no user or password may stand in a URL: write bearer_token_env or headers_env")
	case u.Hostname() == "" || !validHost(u.Hostname()) || !validPort(u.Port(), 1) || strings.HasSuffix(u.Host, ":"):
		return errors.New("the URL's host or port is wrong: write one such as https://mcp.example.org/mcp")
	case strings.Contains(text, "#"):
		return errors.New("no fragment may stand in a server's URL: remove # and what follows")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("plain HTTP is for loopback only: write https://")
	}
	return checkURLSecrets(u)
}

func checkURLSecrets(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the URL's query is malformed")
	}
	for name, values := range query {
		if literal(name) || slices.ContainsFunc(values, func(v string) bool { return secretParameter(name, v) }) {
			return errors.New("a parameter of the URL looks like a secret: write bearer_token_env or headers_env")
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if literal(part) || mixed(part) && opaque(part, 24) {
			return errors.New("a part of the URL looks like a secret: write bearer_token_env or headers_env")
		}
	}
	return nil
}

// loopback reports whether a host is this machine, without looking its name up.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// validHost accepts an address, or a name in ASCII.
func validHost(host string) bool {
	if strings.Contains(host, ":") {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return len(host) <= 253 && hostName.MatchString(host)
}

// validPort accepts no port, or a number from least.
func validPort(port string, least int) bool {
	if port == "" {
		return true
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= least && n <= 65535 && strconv.Itoa(n) == port
}

const headerPattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"

var headerToken = regexp.MustCompile(headerPattern)

// ownedHeaders belong to HTTP or to the client.
var ownedHeaders = map[string]bool{
	"host": true, "content-length": true, "content-type": true, "content-encoding": true, "transfer-encoding": true,
	"accept": true, "accept-encoding": true, "connection": true, "keep-alive": true, "upgrade": true, "te": true,
	"trailer": true, "expect": true, "last-event-id": true, "origin": true, "cookie": true,
	"proxy-authorization": true, "proxy-connection": true,
}

// checkHeader returns why a header can't be set. It doesn't quote what is no header's name.
func checkHeader(name string) error {
	lower := strings.ToLower(name)
	switch {
	case len(name) > 128 || !headerToken.MatchString(name):
		return errors.New("this key is no name of a header: write one such as X-Tenant")
	case opaque(name, 20):
		return errors.New("this key looks like a secret: write the name of a header")
	case lower == "idempotency-key" || lower == "x-idempotency-key":
		return fmt.Errorf("the header %s would be the same for every call, and make the second look like the first: remove it", name)
	case ownedHeaders[lower] || strings.HasPrefix(lower, "mcp-"):
		return fmt.Errorf("the header %s belongs to the protocol: remove it", name)
	}
	return nil
}

// checkHost accepts a value of the Host header.
func checkHost(text string) error {
	host, port := text, ""
	if h, p, err := net.SplitHostPort(text); err == nil {
		host, port = h, p
		if port == "" {
			host = ""
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if !validHost(host) || !validPort(port, 1) {
		return fmt.Errorf("%q is no host: write HOST or HOST:PORT, without scheme, path or *", clip(text))
	}
	return nil
}

// checkOrigin accepts a value of the Origin header.
func checkOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || text != u.Scheme+"://"+u.Host || !validHost(u.Hostname()) || !validPort(u.Port(), 1) {
		return fmt.Errorf("%q is no origin: write a scheme and a host, as in https://app.example.org, without path or *", clip(text))
	}
	return nil
}

// splitAddress takes the address of a listener apart: host is HOST:PORT, or a path as the
// file spells it.
func splitAddress(address string) (scheme, host, urlPath string, err error) {
	if address == "stdio" {
		return "stdio", "", "", nil
	}
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", socket, "", checkSocket(socket)
	}
	scheme, rest, ok := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" && scheme != "tcp" {
		return "", "", "", errors.New("this is no address: write http://HOST:PORT/rpc, https://HOST:PORT/rpc, tcp://HOST:PORT, unix:PATH or stdio")
	}
	host, urlPath, _ = strings.Cut(rest, "/")
	if len(host) < len(rest) {
		urlPath = "/" + urlPath
	}
	if err := checkHostPort(scheme, host); err != nil {
		return "", "", "", err
	}
	urlPath, err = listenPath(scheme, urlPath)
	return scheme, host, urlPath, err
}

func checkSocket(socket string) error {
	if socket == "" || strings.HasSuffix(socket, "/") {
		return errors.New("the path of the socket is missing: write unix:PATH, as in unix:./app.sock")
	}
	return nil
}

func checkHostPort(scheme, hostPort string) error {
	host, port, err := net.SplitHostPort(hostPort)
	switch {
	case strings.Contains(hostPort, "@"):
		return errors.New("no user or password may stand in an address")
	case err != nil || port == "":
		return fmt.Errorf("the port is missing: write %s://HOST:PORT", scheme)
	case host != "" && !validHost(host) || !validPort(port, 0):
		return fmt.Errorf("the host or port is wrong: write %s://HOST:PORT, as in %s://127.0.0.1:8321", scheme, scheme)
	}
	return nil
}

func listenPath(scheme, text string) (string, error) {
	switch {
	case scheme == "tcp" && text != "":
		return "", errors.New("tcp:// takes no path: write tcp://HOST:PORT")
	case scheme == "tcp":
		return "", nil
	case text == "":
		return "/rpc", nil
	case strings.ContainsAny(text, "?#%*{}\\ ") || path.Clean(text) != text:
		return "", errors.New("the path is wrong: write a plain one, such as /rpc")
	case text == "/healthz" || text == "/readyz":
		return "", fmt.Errorf("the path %s is taken: write another, such as /rpc", text)
	}
	return text, nil
}
