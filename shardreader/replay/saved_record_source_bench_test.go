package replay

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// Reading without decoding: what the one goroutine that reads files costs.
func BenchmarkRead(b *testing.B) {
	rs := recordsJSON(0, 50_000)
	for name, content := range map[string]string{"lines": lines(rs), "array": array(rs), "event": event(rs), "lines.zst": zstandard(b, lines(rs))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(lines(rs))))
			b.ReportAllocs()
			for b.Loop() {
				s, err := Open(Options{Paths: []string{"-"}, Stdin: bytes.NewReader([]byte(content))})
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = s.Read(b.Context())
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
	}
}
