package cupule

import (
	"crypto/tls"
	"reflect"
	"sync/atomic"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
)

// certificate is what a listener presents, and may be replaced while it listens.
type certificate struct {
	atomic.Pointer[tls.Certificate]
}

func (c *certificate) present(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.Load(), nil }

// present makes loaded what the listeners that are to be opened present.
func (a *App) present(listeners []config.Listener, loaded []tls.Certificate) []*certificate {
	list := make([]*certificate, len(loaded))
	for i := range loaded {
		list[i] = &certificate{}
		list[i].Store(&loaded[i])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serving, a.certificates = listeners, list
	return list
}

// renewal reads the certificates of a configuration. What it returns makes them those of
// the listeners that are open and haven't changed otherwise.
func (a *App) renewal(cfg *config.Config) (renew func(), err error) {
	a.mu.Lock()
	serving, certificates := a.serving, a.certificates
	a.mu.Unlock()
	if len(certificates) == 0 {
		return func() {}, nil
	}
	loaded, err := cfg.LoadCertificates()
	return func() {
		for i, open := range serving {
			for k, l := range cfg.Serve.Listen {
				if alike(open, l) {
					certificates[i].Store(&loaded[k])
				}
			}
		}
	}, err
}

// alike reports whether two listeners differ at most in their place in the file and their
// certificates.
func alike(x, y config.Listener) bool {
	if (x.Certificate == "") != (y.Certificate == "") {
		return false
	}
	for _, l := range []*config.Listener{&x, &y} {
		l.At, l.Certificate, l.Key = effects.Position{}, "", ""
	}
	return reflect.DeepEqual(x, y)
}
