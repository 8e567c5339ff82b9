package mcpclient

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cupule/cupule/internal/mask"
)

// redacted is what a secret prints as.
const redacted = mask.Masked

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

func (m masker) mask(text string) string { return m.cover(text, false) }

// cover is mask for a text that may have been cut amid a secret.
func (m masker) cover(text string, cut bool) string {
	var values []string
	for _, s := range m {
		if len(s) >= shortestMasked {
			values = append(values, string(s))
		}
	}
	return string(mask.New(values...).Mask([]byte(text), 0, cut))
}

// untrusted returns text of a server, fit for a message: masked, at most limit bytes, with
// control bytes and invalid UTF-8 escaped.
func (m masker) untrusted(text string, limit int) string {
	cut := ""
	if len(text) > FrameOverhead {
		text, cut = m.cover(text[:FrameOverhead], true), "..."
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
