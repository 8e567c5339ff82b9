package mcpclient

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"
)

// redacted is what a secret prints as.
const redacted = "[redacted]"

// shortestMasked is the length below which a value is too common a text to be masked.
const shortestMasked = 4

// secret is a value that was read from a variable. It prints as [redacted].
type secret string

func (secret) String() string               { return redacted }
func (secret) GoString() string             { return redacted }
func (secret) Format(s fmt.State, _ rune)   { _, _ = s.Write([]byte(redacted)) }
func (secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (secret) LogValue() slog.Value         { return slog.StringValue(redacted) }

// masker replaces secret values in text that a server wrote.
type masker []secret

func (m masker) mask(text string) string {
	for _, s := range m {
		if len(s) < shortestMasked {
			continue
		}
		text = strings.ReplaceAll(text, string(s), redacted)
		if quoted := strconv.Quote(string(s)); quoted != `"`+string(s)+`"` {
			text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], redacted)
		}
	}
	return text
}

// untrusted returns text of a server, fit for a message: masked, at most limit bytes, with
// control bytes and invalid UTF-8 escaped.
func (m masker) untrusted(text string, limit int) string {
	cut := ""
	if len(text) > FrameOverhead {
		// What is masked may lie across this cut, so a margin of it is never shown.
		text = m.mask(text[:FrameOverhead])
		text, cut = text[:max(0, len(text)-maxSecret)], "..."
	} else {
		text = m.mask(text)
	}
	if len(text) > limit {
		text, cut = text[:limit], "..."
		for !utf8.ValidString(text) && len(text) > limit-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + cut
}

// maxSecret is the longest value that a cut could leave a part of.
const maxSecret = 8 << 10
