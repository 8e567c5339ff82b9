package config

import (
	"crypto/tls"
	"fmt"
)

// LoadCertificates reads the files under tls of each listener in Serve.Listen, and returns
// as many certificates, empty where a listener has none. The error is an *Error with every
// file that can't be read, and every pair that doesn't belong together. Warnings tells the
// same; when serving starts it is an error.
func (c *Config) LoadCertificates() ([]tls.Certificate, error) {
	w := &warner{cfg: c}
	loaded := w.certificates()
	if len(w.found) > 0 {
		return nil, &Error{Problems: sorted(w.found)}
	}
	return loaded, nil
}

func (w *warner) certificates() []tls.Certificate {
	loaded := make([]tls.Certificate, len(w.cfg.Serve.Listen))
	for i, l := range w.cfg.Serve.Listen {
		path := fmt.Sprintf("serve.listen[%d].tls", i)
		known := len(w.found)
		w.pem(l.At, path+".certificate", l.Certificate)
		w.pem(l.At, path+".key", l.Key)
		if l.Certificate == "" || len(w.found) > known {
			continue
		}
		pair, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
		if err != nil {
			w.warn(l.At, path, "the certificate and its key can't be used: %s", reason(err))
		}
		loaded[i] = pair
	}
	return loaded
}
