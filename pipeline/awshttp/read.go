package awshttp

import (
	"bytes"
	"errors"
	"hash/crc32"
	"net/http"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// ReadBody reads the whole body of an answer into a new buffer, up to limit bytes. If the answer has the header
// X-Amz-Crc32, ReadBody compares the body with this checksum. A wrong checksum is an [Error]. The caller closes the
// body.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	b, err := readWhole(resp, limit)
	if err != nil {
		return nil, err
	}
	// The checksum belongs to the bytes as sent. It cannot be checked if the HTTP client has decompressed them.
	if sum := resp.Header.Get("X-Amz-Crc32"); sum != "" && !resp.Uncompressed {
		want, err := strconv.ParseUint(sum, 10, 32)
		if err == nil && uint32(want) != crc32.ChecksumIEEE(b) {
			return nil, &Error{resp.StatusCode, errors.New("its checksum differs from the one in X-Amz-Crc32")}
		}
	}
	return b, nil
}

// readWhole reads the whole body of an answer, up to limit bytes.
func readWhole(resp *http.Response, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(bounded.Reader(resp.Body, limit))
	return b.Bytes(), err
}
