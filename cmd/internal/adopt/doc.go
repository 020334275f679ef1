// Package adopt is the commands that mend what sinks keep: adopt and purge.
package adopt
