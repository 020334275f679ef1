package awshttp_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/awshttp"
)

// A body that is truncated, changed or too large is an error. All others are returned whole.
func TestReadBody(t *testing.T) {
	const text = `{"Count":0}`
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(text))), 10)
	for name, test := range map[string]struct {
		body   io.Reader
		sum    string
		zipped bool
		want   string // "": ReadBody returns an error
	}{
		"whole":                 {strings.NewReader(text), sum, false, text},
		"no checksum":           {strings.NewReader(text), "", false, text},
		"no number":             {strings.NewReader(text), "x", false, text},
		"changed":               {strings.NewReader(text + " "), sum, false, ""},
		"cut":                   {strings.NewReader(text[:5]), sum, false, ""},
		"it was decompressed":   {strings.NewReader(text), "1", true, text},
		"broken off":            {io.MultiReader(strings.NewReader(text), failing{}), "", false, ""},
		"larger than allowed":   {strings.NewReader(text + strings.Repeat(" ", 100)), "", false, ""},
		"as large as it may be": {strings.NewReader(text + strings.Repeat(" ", 100-len(text))), "", false, text + strings.Repeat(" ", 100-len(text))},
	} {
		resp := &http.Response{Header: http.Header{}, Body: io.NopCloser(test.body), Uncompressed: test.zipped, ContentLength: -1}
		if test.sum != "" {
			resp.Header.Set("X-Amz-Crc32", test.sum)
		}
		b, err := awshttp.ReadBody(resp, 100)
		if string(b) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
