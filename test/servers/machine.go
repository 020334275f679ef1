package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// tool is a program that a server needs on the machine.
type tool struct {
	name    string
	command []string // prints the version
	version *regexp.Regexp
	least   int // major version; 0: any
}

var (
	java  = tool{"Java", []string{"java", "-version"}, regexp.MustCompile(`version "(\d+)`), 17}
	maven = tool{"Maven", []string{"mvn", "-v"}, regexp.MustCompile(`Apache Maven (\d+)`), 3}
)

// checkMachine names, in one line, every tool that is missing or too old.
func checkMachine(wanted []server) error {
	seen := map[string]bool{}
	var missing []string
	for _, s := range wanted {
		for _, t := range s.tools {
			if seen[t.name] {
				continue
			}
			seen[t.name] = true
			if why := t.lacks(); why != "" {
				missing = append(missing, why)
			}
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("this machine lacks %s; install it, or name running servers in the environment (%s)",
		strings.Join(missing, " and "), envNames(wanted))
}

// lacks is "" when the tool is there and new enough.
func (t tool) lacks() string {
	want := t.name
	if t.least > 0 {
		want += " " + strconv.Itoa(t.least) + " or later"
	}
	out, err := exec.Command(t.command[0], t.command[1:]...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return want + fmt.Sprintf(" (no %s on the PATH)", t.command[0])
	}
	m := t.version.FindSubmatch(out)
	if err != nil || m == nil {
		return want + fmt.Sprintf(" (%s does not tell its version)", strings.Join(t.command, " "))
	}
	if major, _ := strconv.Atoi(string(m[1])); major < t.least {
		return want + fmt.Sprintf(" (%s is version %s)", t.command[0], m[1])
	}
	return ""
}

func envNames(ss []server) string {
	names := make([]string, len(ss))
	for i, s := range ss {
		names[i] = s.env
	}
	return strings.Join(names, ", ")
}
