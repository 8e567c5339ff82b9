package interop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJaysonOverHTTPS(t *testing.T) {
	p := need(t)
	certificate, key := certify(t)
	s := serveTLS(t, p, certificate, key)
	ca := readText(t, certificate)
	steps, _ := play(t, p, "jayson.cjs", map[string]any{"url": s.address(t), "token": token, "ca": ca})
	checkJayson(t, steps)
}

func TestHTTP2(t *testing.T) {
	p := need(t)
	certificate, key := certify(t)
	s := serveTLS(t, p, certificate, key)
	steps, _ := play(t, p, "http2.cjs", map[string]any{"url": s.address(t), "token": token, "ca": readText(t, certificate)})
	got := map[string]int{}
	for name, step := range steps {
		got[name] = step.Code
	}
	want := map[string]int{
		"call 1": 200, "call 2": 200, "call 3": 200, "notification": 204, "no token": 401, "another origin": 403,
		"no JSON": 415, "too large": 413, "get": 405, "health": 200, "ready": 200,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := 1; n <= 3; n++ {
		if body := steps[fmt.Sprintf("call %d", n)].Message; !strings.Contains(body, fmt.Sprintf(`"id":%d`, n)) || !strings.Contains(body, fmt.Sprintf("is %d.", n+1)) {
			t.Errorf("call %d: %s", n, body)
		}
	}
	if challenge := steps["no token"].Message; !strings.HasPrefix(challenge, "Bearer") {
		t.Errorf("without a token: %q", challenge)
	}
}

func serveTLS(t *testing.T, p *peers, certificate, key string) *service {
	t.Helper()
	return serve(t, p, fmt.Sprintf(`{address: "https://127.0.0.1:0/rpc", tls: {certificate: %s, key: %s}}`, quote(certificate), quote(key)))
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// certify makes a certificate for loopback and returns its file and that of its key.
func certify(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", public), writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", secret)
}

func writePEM(t *testing.T, file, kind string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
