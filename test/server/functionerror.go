package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// FunctionError is a failed invocation. The event source mapping then counts no record of the batch as done.
type FunctionError struct {
	Type    string // errorType: the type of the handler's error, Runtime.ExitError of a process that ended, [TimedOut], or Runtime.InitError
	Message string
}

// TimedOut is the Type of an invocation that timed out.
const TimedOut = "Sandbox.Timedout"

// Error returns the type and the message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// functionError returns the error in an answer of the emulator, or nil for a reply. An error of the handler and a
// timeout come with status 200, the end of the process with 502.
func functionError(status int, body []byte) error {
	if text := string(body); strings.HasPrefix(text, "Task timed out after ") {
		return &FunctionError{TimedOut, text}
	}
	var e struct{ ErrorType, ErrorMessage *string }
	if json.Unmarshal(body, &e) == nil && e.ErrorType != nil && e.ErrorMessage != nil {
		return &FunctionError{*e.ErrorType, *e.ErrorMessage}
	}
	if status != http.StatusOK { // the bootstrap prints nothing if it ends before it requests an event
		return &FunctionError{"Runtime.InitError", fmt.Sprintf("the bootstrap ended before it took an event (status %d)", status)}
	}
	return nil
}
