package config

import (
	"strings"
	"testing"
)

func TestCheckVariable(t *testing.T) {
	for _, name := range []string{
		"A", "_", "_a1", "MY_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "AWS_S3_BUCKET_US_EAST_1", "X509_CERT", "sk_live", "TOKEN_2024_10_01",
		"someServiceApiTokenName", "NODE_18_HOME", "OAUTH2_CLIENT_SECRET_V2", "akia", "AKIA_KEY", "K8S_API_V1BETA1_URL", "eyJ", "GHP_TOKEN", strings.Repeat("A", 128),
	} {
		if err := checkVariable(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"", "a b", "a-b", "1A", "$A", "${A}", "A=b", "ä", "A\n", "%A%", "a.b", strings.Repeat("A", 129),
		"AKIAIOSFODNN7EXAMPLE", "ghp_abcdefghijkl", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11AAAAAAA0abcdefgh",
		"a8f5f167f44f4964e6c998dee827110c", "DEADBEEF00112233AABBCCDDEEFF0011", "tok_1a2B3c4D5e6F7g8H9i0J", "npm_abcdefghijklmnopqrstuvwxyz",
		"sk_live_abcdefgh", "hf_abcdefghijklmnopqrstuvwx", "xK9mQ2vL8nR4tY6wZ1aB", "QwErTyUiOpAsDfGhJkLzXcVb",
	} {
		if err := checkVariable(text); err == nil {
			t.Errorf("%s is accepted", text)
		} else if len(text) > 8 && strings.Contains(err.Error(), text) {
			t.Errorf("%s is told: %v", text, err)
		}
	}
}

func TestSecretArgs(t *testing.T) {
	for _, row := range []struct {
		args string // separated by |
		want int    // index, or -1
	}{
		{"--index|./papers", -1}, {"-y|@scope/package@1.2.3", -1}, {"--token-file|x", -1}, {"--token-env|X", -1}, {"--max-token|500", -1},
		{"--token|--verbose", -1}, {"--token", -1}, {"--token=", -1}, {"--token=${TOKEN}", -1}, {"--token|$TOKEN", -1}, {"--token|./t.txt", -1}, {"--password|", -1},
		{"--key-file|a.pem", -1}, {"--private-key|/etc/k.pem", -1}, {"https://example.org/a?b=c", -1}, {"sha256:" + strings.Repeat("a1", 32), -1},
		{"git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567", -1}, {"-e|API_KEY", -1}, {"API_KEY=${API_KEY}", -1}, {"--api-keys-from|x", -1},
		{"node_modules/.bin/x", -1}, {"--name=sk-learn", -1}, {"Authorization: Bearer ${TOKEN}", -1}, {"--pattern|x", -1}, {"postgres://db/x", -1}, {"--path|x", -1},
		{"https://user@example.org", -1}, {"--auth|none", -1}, {"123e4567-e89b-12d3-a456-426614174000", -1}, {"MONKEYS=5", -1},
		{"--token|abc", 1}, {"--token=abc", 0}, {"--github-token|abc", 1}, {"-token|abc", 1}, {"--apiKey|abc", 1}, {"--accessToken=abc", 0}, {"--API_KEY=abc", 0},
		{"--client-secret=abc", 0}, {"--password|hunter2", 1}, {"API_KEY=abc", 0}, {"-e|OPENAI_KEY=abc", 1}, {"-eOPENAI_KEY=abc", 0}, {"--env=DB_PASSWORD=abc", 0},
		{"Authorization: Basic YWJjOmRlZg==", 0}, {"--header=X-Api-Key: abc", 0}, {"--header|Authorization: Bearer abcdef", 1}, {"Cookie: a=b", 0},
		{"postgres://u:p@h/db", 0}, {"https://x:ghp_abcdefgh@github.com", 0}, {"--url=https://a/?t=eyJhbGciOiJIUzI1NiJ9", 0}, {"-----BEGIN RSA PRIVATE KEY-----", 0},
		{"xK9mQ2vL8nR4tY6wZ1aBcD3e", 0}, {"xoxb-1234567890", 0}, {"AIzaSyA1234567890abcdefghijk", 0}, {"glpat-abcdef123", 0},
	} {
		found := secretArgs(strings.Split(row.args, "|"))
		if row.want < 0 && len(found) > 0 || row.want >= 0 && (len(found) != 1 || found[0] != row.want) {
			t.Errorf("%s: %v, want %d", row.args, found, row.want)
		}
	}
}
