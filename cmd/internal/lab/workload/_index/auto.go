//go:build folioauto

package main

import _ "github.com/foliomem/folio/auto"
