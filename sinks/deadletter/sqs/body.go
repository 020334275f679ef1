package sqs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// encode is a letter as the body of a message: its JSON, or that in gzip and base64
// where it is too large as it is, or holds a character that no message may hold. The
// two begin differently.
func encode(l *pipeline.DeadLetter, maxBytes int) (string, error) {
	line, err := deadletter.Append(nil, l)
	if err != nil {
		return "", err
	}
	// JSON escapes the control characters; these two are all that is left that XML,
	// in which SQS was made, has not.
	if len(line) <= maxBytes && !bytes.ContainsAny(line, "\ufffe\uffff") {
		return string(line), nil
	}
	var b strings.Builder
	to := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(to)
	if _, err := zip.Write(line); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	if err := to.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// decode is the letter's JSON again.
func decode(body string) ([]byte, error) {
	if strings.HasPrefix(body, "{") {
		return []byte(body), nil
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(body)))
	if err != nil {
		return nil, err
	}
	return bounded.ReadAll(zip, bounded.Object)
}
