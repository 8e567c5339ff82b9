package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func BenchmarkValid(b *testing.B) {
	for name, text := range map[string]string{
		"envelope": `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"text":"` + strings.Repeat("abcdefgh", 25) + `"}}`,
		"string":   `"` + strings.Repeat("all of it is plain text ", 10_000) + `"`,
		"numbers":  "[" + strings.Repeat("123,4.5,-6e7,", 10_000) + "0]",
	} {
		data := []byte(text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				_ = Valid(data, 64)
			}
		})
		b.Run(name+"/duplicates", func(b *testing.B) {
			for b.Loop() {
				DuplicateKey(data)
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				json.Valid(data)
			}
		})
	}
}
