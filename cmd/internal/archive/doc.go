// Package archive has the commands that work on archives: athena and compact.
package archive
