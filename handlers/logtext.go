package handlers

import (
	"errors"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// logText is a text of err that is fit for logs: without what a server has written, which
// may hold values.
func logText(err error) string {
	cause, text := err, ""
	if r, ok := errors.AsType[pipeline.Redacted](err); ok {
		cause, text = r, r.Redacted()
	} else if api, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok && api.ErrorCode() != "" {
		cause, text = api, api.ErrorCode()
	} else {
		return shardreader.LogText(err)
	}
	if whole, full := err.Error(), cause.Error(); full != "" && strings.Contains(whole, full) {
		return strings.ReplaceAll(whole, full, text)
	}
	return text
}
