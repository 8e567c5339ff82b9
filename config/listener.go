package config

import (
	"net"
	"path/filepath"
	"strings"

	"github.com/cupule/cupule/effects"
)

// maxSocket is the longest path of a unix socket: the kernel's 108 bytes hold a final NUL.
const maxSocket = 107

func (b *builder) listeners(root *value) {
	list := root.get("serve").get("listen")
	if list == nil {
		return
	}
	tokens := hasToken(root)
	seen := map[string]effects.Position{}
	for _, v := range list.items {
		if v == nil {
			continue
		}
		l, ok := b.listener(v)
		if !ok {
			continue
		}
		b.checkListener(&l, v, tokens)
		if first, twice := seen[l.place()]; twice {
			b.report(v.at, v.path, "line %d listens at this address already: remove one", first.Line)
		} else if l.place() != "" {
			seen[l.place()] = v.at
		}
		b.cfg.Serve.Listen = append(b.cfg.Serve.Listen, l)
	}
}

// hasToken reports whether a caller has a token, or may have one: where callers are wrong
// nothing is said about the lack of one.
func hasToken(root *value) bool {
	callers := root.get("callers")
	if root.has("callers") && callers == nil {
		return true
	}
	found := false
	for _, name := range callers.list() {
		caller := callers.of[name]
		found = found || caller == nil || caller.has("token_env")
	}
	return found
}

func (v *value) list() []string {
	if v == nil {
		return nil
	}
	return v.keys
}

// listener takes one entry apart; it reports whether its address is understood.
func (b *builder) listener(v *value) (Listener, bool) {
	address := v
	if v.of != nil {
		address = v.get("address")
	}
	if address == nil {
		return Listener{}, false
	}
	l := Listener{
		Address: address.text, At: v.at,
		Anonymous: v.get("anonymous").bool(), BehindProxy: v.get("behind_proxy").bool(),
		Hosts: texts(v.get("hosts")), Origins: texts(v.get("origins")),
	}
	if tls := v.get("tls"); tls != nil {
		b.require(tls, file.field("serve").shape.field("listen").shape.elem.field("tls").shape)
		l.Certificate, l.Key = b.path(tls.get("certificate")), b.path(tls.get("key"))
	}
	var err error
	if l.Scheme, l.Host, l.Path, err = splitAddress(address.text); err != nil {
		b.report(address.at, address.path, "%s", err)
		return l, false
	}
	if l.Scheme == "unix" {
		b.socket(&l, address)
	}
	return l, true
}

func (b *builder) socket(l *Listener, address *value) {
	socket := *address
	socket.text = l.Host
	l.Host = b.path(&socket)
	if len(l.Host) > maxSocket {
		b.report(address.at, address.path, "the socket's absolute path has more than the %d bytes that the system takes: choose a shorter one", maxSocket)
	}
}

// place names what can be listened at once only; it is empty where the system chooses.
func (l *Listener) place() string {
	switch l.Scheme {
	case "stdio":
		return "stdio"
	case "unix":
		return "unix " + filepath.Clean(l.Host)
	}
	host, port, _ := net.SplitHostPort(l.Host)
	if port == "0" {
		return ""
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	return strings.ToLower(net.JoinHostPort(host, port))
}

// checkListener reports keys that don't go together.
func (b *builder) checkListener(l *Listener, v *value, tokens bool) {
	network := l.Scheme == "tcp" || l.Scheme == "http" || l.Scheme == "https"
	if !network {
		b.onlyFor(v, "network addresses", "tls", "anonymous", "behind_proxy")
	}
	if l.Scheme != "http" && l.Scheme != "https" {
		b.onlyFor(v, "http:// and https://", "hosts", "origins")
	}
	switch {
	case l.Scheme == "https" && !v.has("tls"):
		b.report(v.at, v.path, "https:// needs a certificate: write tls: {certificate: FILE, key: FILE}")
	case l.Scheme == "http" && v.has("tls"):
		b.report(v.get("tls").place(v), v.path+".tls", "TLS needs https://: write https:// in the address, or remove tls")
	}
	if !network {
		return
	}
	host, _, _ := net.SplitHostPort(l.Host)
	if l.Scheme != "https" && !v.has("tls") && !loopback(host) && !l.BehindProxy {
		b.report(v.at, v.path, "off loopback TLS is needed: write https:// and tls, listen on 127.0.0.1, or write behind_proxy: true where a proxy does TLS")
	}
	if !tokens && !l.Anonymous {
		b.report(v.at, v.path, "nobody could call here: give a caller token_env, or write anonymous: true")
	}
}

// onlyFor reports keys that mean nothing here.
func (b *builder) onlyFor(v *value, addresses string, keys ...string) {
	for _, key := range keys {
		if v.has(key) {
			b.report(v.get(key).place(v), join(v.path, key), "%s is for %s: remove it", key, addresses)
		}
	}
}

// place returns where the value's key stands, or where the one around it does.
func (v *value) place(around *value) effects.Position {
	if v == nil {
		return around.at
	}
	return v.key
}
