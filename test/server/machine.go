package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// tool is a program that a server needs on the machine.
type tool struct {
	want    string   // the description in a message
	command []string // prints the version
	version *regexp.Regexp
	least   int
}

func java() tool {
	return tool{"Java 17 or later", []string{"java", "-version"}, regexp.MustCompile(`version "(\d+)`), 17}
}

func maven() tool {
	return tool{"Maven 3 or later", []string{"mvn", "-v"}, regexp.MustCompile(`Apache Maven (\d+)`), 3}
}

func python() tool {
	return tool{"Python 3 with venv and pip", []string{"python3", "-c", "import ensurepip, sys, venv; print(sys.version_info.major)"},
		regexp.MustCompile(`^(\d+)`), 3}
}

func golang() tool {
	return tool{"Go 1.26 or later", []string{"go", "version"}, regexp.MustCompile(`go1\.(\d+)`), 26}
}

// CheckMachine returns an error of one line that names every tool that the kinds need and that is missing or too old.
func CheckMachine(kinds ...*Kind) error {
	var tools []tool
	var env []string
	for _, k := range kinds {
		tools, env = append(tools, k.tools...), append(env, k.Env)
	}
	lacks := lacking(tools)
	if lacks == "" {
		return nil
	}
	return fmt.Errorf("this machine lacks %s; install it, or name running servers in the environment (%s)",
		lacks, strings.Join(env, ", "))
}

// lacking names each tool once that is missing or too old. It returns "" if there is none.
func lacking(tools []tool) string {
	var lacks []string
	checked, named := map[string]bool{}, map[string]bool{} // by command and want, and by want
	for _, t := range tools {
		check := strings.Join(t.command, " ") + t.want
		if checked[check] || named[t.want] {
			continue
		}
		checked[check] = true
		if why := t.lacks(); why != "" {
			named[t.want] = true
			lacks = append(lacks, why)
		}
	}
	return strings.Join(lacks, " and ")
}

// checkTools returns an error that names each tool that is missing or too old.
func checkTools(tools ...tool) error {
	if lacks := lacking(tools); lacks != "" {
		return fmt.Errorf("this machine lacks %s; install it", lacks)
	}
	return nil
}

// lacks returns "" if the tool is present and recent enough.
func (t tool) lacks() string {
	out, err := exec.Command(t.command[0], t.command[1:]...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s (no %s)", t.want, where(t.command[0]))
	}
	m := t.version.FindSubmatch(out)
	if err != nil || m == nil {
		return fmt.Sprintf("%s (%s fails)", t.want, strings.Join(t.command, " "))
	}
	if v, _ := strconv.Atoi(string(m[1])); v < t.least {
		return fmt.Sprintf("%s (%s is version %s)", t.want, t.command[0], m[1])
	}
	return ""
}

func where(program string) string {
	if filepath.IsAbs(program) {
		return program
	}
	return program + " on the PATH"
}
