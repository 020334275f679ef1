package redact

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Redacted is implemented by errors with a text for logs. This text holds no keys and no values of items. For any other
// error, logs show the description that [LogText] makes of known errors, or only the type. Dead letters contain the
// full text.
type Redacted interface {
	error
	Redacted() string
}

// Described is implemented by errors with a class and a field. The class is one word, such as throttled. The field is
// the attribute of the item that causes the error, or "".
type Described interface {
	error
	Describe() (class, field string)
}

// LogText returns the text of an error for logs. The text holds no data of an item. No other function makes texts for
// logs. The text starts with the class of the error. The text of a [Redacted] error follows. For other errors, a
// description of a known error of the runtime, the operating system or the network follows, or else the error's type.
func LogText(err error) string {
	class, _, text := describe(err)
	if text == class || strings.HasPrefix(text, class+":") {
		return text
	}
	return class + ": " + text
}

// SafeText returns the redacted text of an error without the class, for use in another text.
func SafeText(err error) string {
	_, _, text := describe(err)
	return text
}

// ErrorClass returns the class that [LogText] starts with.
func ErrorClass(err error) string {
	class, _, _ := describe(err)
	return class
}

// ErrorField returns the field of the item that causes an error, or "".
func ErrorField(err error) string {
	_, field, _ := describe(err)
	return field
}

// UnknownClass is the class of errors of unknown types.
const UnknownClass = "unknown"

// describe returns the class, the field and the redacted text of an error.
func describe(err error) (class, field, text string) {
	if d, ok := errors.AsType[Described](err); ok {
		class, field = d.Describe()
	}
	if r, ok := errors.AsType[Redacted](err); ok {
		if class == "" {
			class, _, _ = systemText(r)
		}
		return cmp.Or(class, UnknownClass), field, r.Redacted()
	}
	systemClass, text, ok := systemText(err)
	if !ok {
		text = fmt.Sprintf("%T", lastCause(err))
	}
	return cmp.Or(class, systemClass, UnknownClass), field, text
}

// systemText describes a panic, or an error of the runtime, the operating system or the network. It returns false for
// other errors.
func systemText(err error) (class, text string, ok bool) {
	p, ok := errors.AsType[*PanicError](err)
	if !ok {
		return causeText(err)
	}
	value := fmt.Sprintf("a %T", p.Value)
	if cause := p.Unwrap(); cause != nil {
		value = fmt.Sprintf("a %T", lastCause(cause))
		if _, known, ok := causeText(cause); ok {
			value = known
		}
	}
	return "panic", "panic: " + p.Stage + ": " + value, true
}

// knownErrors are errors whose text shows nothing of an item.
var knownErrors = []struct {
	err   error
	class string
}{
	{context.Canceled, "cancelled"}, {context.DeadlineExceeded, "timeout"}, {os.ErrDeadlineExceeded, "timeout"},
	{http.ErrHandlerTimeout, "timeout"}, {io.ErrUnexpectedEOF, "cut"}, {io.EOF, "cut"}, {io.ErrClosedPipe, "cut"},
	{net.ErrClosed, "cut"}, {fs.ErrNotExist, "missing"}, {fs.ErrExist, "exists"}, {fs.ErrPermission, "permission"},
	{os.ErrClosed, "closed"},
}

// causeText does the same as systemText, except for panics of user code.
func causeText(err error) (class, text string, ok bool) {
	if e, ok := errors.AsType[runtime.Error](err); ok {
		return "panic", e.Error(), true
	}
	if class, text := tlsText(err); class != "" {
		return class, text, true
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return "dns", "no address of " + e.Name, true
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return errnoClass(e), failedOperation(err) + e.Error(), true
	}
	for _, known := range knownErrors { // the first one decides: an error can join several
		if errors.Is(err, known.err) {
			return known.class, known.err.Error(), true
		}
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "timeout", "no answer in time", true
	}
	if e, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err); ok && e.ErrorCode() != "" {
		return "service", e.ErrorCode(), true
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "syntax", "no JSON at byte " + strconv.FormatInt(e.Offset, 10), true
	}
	if e, ok := errors.AsType[*strconv.NumError](err); ok {
		return "number", e.Func + ": " + e.Err.Error(), true
	}
	return "", "", false
}

// failedOperation returns the operation that a system call's error belongs to, followed by a colon. It returns "" if
// the operation is unknown.
func failedOperation(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Addr == nil {
			return op.Op + " " + op.Net + ": "
		}
		return op.Op + " " + op.Net + " " + op.Addr.String() + ": "
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Op + ": " // without the path: the path of an archive's object contains values
	}
	return ""
}

func errnoClass(e syscall.Errno) string {
	switch e {
	case syscall.ECONNREFUSED:
		return "refused"
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return "cut"
	case syscall.ETIMEDOUT:
		return "timeout"
	case syscall.ENOSPC, syscall.EDQUOT:
		return "disk_full"
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return "permission"
	case syscall.ENOENT:
		return "missing"
	}
	return "system"
}

// plainHTTP is the error text of net/http for a server without TLS. net/http has no type for this error.
const plainHTTP = "http: server gave HTTP response to HTTPS client"

// tlsText describes a failed TLS handshake. The class is "" for other errors.
func tlsText(err error) (class, text string) {
	class = "tls"
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return class, "the server's certificate has expired or is not valid yet: or the clock of this machine is wrong"
		}
		return class, "the server's certificate is not valid"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return class, "the server's certificate is signed by an authority that this machine does not know"
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return class, "the server's certificate is not for " + e.Host
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || lastCause(err).Error() == plainHTTP {
		return class, "the server does not speak TLS: is its address one with http?"
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return class, e.Error()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return class, "the server's certificate cannot be verified"
	}
	return "", ""
}

// lastCause returns the last cause of an error. If an error has several causes, it follows the first.
func lastCause(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // the loop follows the causes
		case interface{ Unwrap() error }:
			if cause := e.Unwrap(); cause != nil {
				err = cause
				continue
			}
		case interface{ Unwrap() []error }:
			if causes := e.Unwrap(); len(causes) > 0 {
				err = causes[0]
				continue
			}
		}
		return err
	}
}

// PanicError is a recovered panic of user code: a filter, a detector, a sink, a source or a committer.
type PanicError struct {
	Stage string // the code that panicked: `filter "large"`, `sink "orders"`
	Value any    // the argument of panic
	Stack []byte // the stack trace of the goroutine
}

// Error returns the stage and the value, without the stack trace.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Stage, e.Value) }

// Unwrap returns the value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
