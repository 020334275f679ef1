package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline"
)

// logFlags say how every command writes to standard error, and how much it logs.
type logFlags struct {
	format format
	level  slog.LevelVar
	set    bool // the level was given
}

// add adds the flags to c and the commands below it.
func (l *logFlags) add(c *cobra.Command) {
	l.format = formatText
	f := c.PersistentFlags()
	f.Var(&l.format, "log-format", "how standard error is written: text, or json: each line is a document")
	f.TextVar(&l.level, "log-level", &l.level, "what is logged: debug, info, warn or error (default warn; consume: info)")
	f.Lookup("log-level").DefValue = ""
	_ = c.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// find sets the flags as args say that are wrong elsewhere: parsing ended there.
func (l *logFlags) find(args []string) {
	c := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	l.add(c)
	_ = c.ParseFlags(args)
}

// logWriter is standard error: a log, and lines beside it. As JSON each line of either is a document.
type logWriter struct {
	w     io.Writer
	flags *logFlags

	mu  sync.Mutex
	cut []byte // with JSON: the begin of a line whose end comes with a later Write
}

// warning begins the lines that are warnings.
const warning = "warning: "

// Write writes lines as they are, or each as a document with json.
func (l *logWriter) Write(p []byte) (int, error) {
	if l.flags.format != formatJSON {
		return l.w.Write(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = append(l.cut, p...)
	if n := bytes.LastIndexByte(l.cut, '\n') + 1; n > 0 {
		l.document(l.cut[:n])
		l.cut = append([]byte(nil), l.cut[n:]...)
	}
	return len(p), nil
}

// document writes lines as documents.
func (l *logWriter) document(lines []byte) {
	log := slog.New(slog.NewJSONHandler(l.w, nil))
	for line := range bytes.Lines(lines) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte(warning)); ok {
			log.Warn(string(text))
		} else {
			log.Info(string(line))
		}
	}
}

// end writes a line that never ended.
func (l *logWriter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.document(l.cut)
	l.cut = nil
}

// failed writes the error that a command ends with; as JSON, with its class as each line of the log has it, and the exit code.
func (l *logWriter) failed(err error, code int) {
	text := err.Error()
	switch {
	case text == "": // the exit code says it
		return
	case l.flags.format != formatJSON:
		fmt.Fprintln(l.w, "tablewake:", text)
		return
	}
	l.end()
	if class := pipeline.ErrorClass(err); class != pipeline.UnknownClass && !strings.HasPrefix(text, class+":") {
		text = class + ": " + text
	}
	slog.New(slog.NewJSONHandler(l.w, nil)).Error("the command failed", slog.String("error", text), slog.Int("exit_code", code))
}

// standardError is the logWriter below w; nil where there is none.
func standardError(w io.Writer) *logWriter {
	switch w := w.(type) {
	case *logWriter:
		return w
	case *progress:
		return standardError(w.w)
	}
	return nil
}

// newLogger logs to w from that level on, in the form and from the level that its flags say.
func newLogger(w io.Writer, level slog.Level, verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	to := standardError(w)
	if to != nil && to.flags.set {
		o.Level = to.flags.level.Level()
	}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if to != nil && to.flags.format == formatJSON {
		return slog.New(slog.NewJSONHandler(to.w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
