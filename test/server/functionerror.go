package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// FunctionError is an invocation that failed: the event source mapping then takes
// none of the batch for done.
type FunctionError struct {
	Type    string // errorType: the type of the handler's error, Runtime.ExitError of a process that ended, [TimedOut], or Runtime.InitError
	Message string
}

// TimedOut is the Type of an invocation that ran out of time.
const TimedOut = "Sandbox.Timedout"

// Error is the type and the message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// functionError is the error that an answer of the emulator stands for, nil for a reply.
// An error that the handler returned comes with 200, and so does the end of the
// time; the end of the process with 502.
func functionError(status int, body []byte) error {
	if text := string(body); strings.HasPrefix(text, "Task timed out after ") {
		return &FunctionError{TimedOut, text}
	}
	var e struct{ ErrorType, ErrorMessage *string }
	if json.Unmarshal(body, &e) == nil && e.ErrorType != nil && e.ErrorMessage != nil {
		return &FunctionError{*e.ErrorType, *e.ErrorMessage}
	}
	if status != http.StatusOK { // a bootstrap that ends before it requests an event prints nothing at all
		return &FunctionError{"Runtime.InitError", fmt.Sprintf("the bootstrap ended before it took an event (status %d)", status)}
	}
	return nil
}
