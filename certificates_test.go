package cupule

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
)

// certify writes a certificate with this number, and its key.
func certify(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: made}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// presented returns the number of the certificate that a listener presents.
func presented(t *testing.T, address string) int64 {
	t.Helper()
	_, address, _ = strings.Cut(strings.TrimSuffix(address, "/rpc"), "://")
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// A Reload reads certificates anew, also from other files; a broken one changes nothing.
func TestReloadOfCertificates(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	certify(t, dir, 1)
	certify(t, other, 3)
	declare := func(dir string) string {
		pair := "tls: {certificate: " + filepath.ToSlash(dir) + "/cert.pem, key: " + filepath.ToSlash(dir) + "/key.pem}"
		return echoOperation + "serve: {listen: [{address: 'https://127.0.0.1:0', anonymous: true, " + pair + "}, {address: 'tcp://127.0.0.1:0', anonymous: true, " + pair + "}]}\n"
	}
	app, file := open(t, declare(dir), nil)
	stop, addresses := serving(t, app)
	defer stop()
	want := func(what string, serial int64) {
		t.Helper()
		for _, address := range addresses {
			if got := presented(t, address); got != serial {
				t.Errorf("%s: %s presents %d, want %d", what, address, got, serial)
			}
		}
	}
	want("at first", 1)
	certify(t, dir, 2)
	want("before a reload", 1)
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("renewed", 2)
	for what, broken := range map[string]func() error{
		"garbage": func() error { return os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("x"), 0o600) },
		"nothing": func() error { return os.RemoveAll(filepath.Join(dir, "key.pem")) },
		"a folder, which is no regular file, like a pipe": func() error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "key.pem")), os.Mkdir(filepath.Join(dir, "key.pem"), 0o700))
		},
	} {
		if err := broken(); err != nil {
			t.Fatal(err)
		}
		before := app.Config()
		problems, ok := errors.AsType[*config.Error](app.Reload(t.Context()))
		if !ok || !strings.HasPrefix(problems.Problems[0].Path, "serve.listen[0].tls") || len(problems.Problems) != 2 || app.Config() != before {
			t.Errorf("%s: %v", what, problems)
		}
		want(what, 2)
	}
	write(t, file, declare(other))
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("of other files", 3)
}

// A certificate that can't be used keeps from serving, with its place in the file.
func TestBrokenCertificateKeepsFromServing(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, 1)
	key, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	certify(t, dir, 2)
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), key, 0o600); err != nil { // of another
		t.Fatal(err)
	}
	folder := filepath.ToSlash(dir)
	app, _ := open(t, "serve: {listen: [{address: 'https://127.0.0.1:0', anonymous: true, tls: {certificate: "+folder+"/cert.pem, key: "+folder+"/key.pem}}]}\n", nil)
	err = app.Serve(t.Context())
	problems, ok := errors.AsType[*config.Error](err)
	if !ok || problems.Problems[0].Line == 0 || !strings.Contains(err.Error(), "serve.listen[0].tls: the certificate and its key can't be used: tls: private key does not match") {
		t.Error(err)
	}
	if warnings := app.Config().Warnings(nil, nil); len(warnings) != 2 || warnings[1].Path != "serve.listen[0].tls" {
		t.Error(warnings)
	}
}
