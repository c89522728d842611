package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// A ConnectError says why a host cannot be connected to, and what to do about it.
type ConnectError struct {
	Err    error
	Advice Advice // "" for none
}

func (e *ConnectError) Unwrap() error { return e.Err }

// Error is the reason and the advice, with the flags of folio load.
func (e *ConnectError) Error() string {
	if e.Advice == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "; " + e.Advice.Text("")
}

// An Advice is what to do about a host that cannot be connected to.
type Advice string

const (
	CorrectPort    Advice = "port"    // nothing listens there
	LongerTimeout  Advice = "timeout" // nothing answered
	AnyCertificate Advice = "insecure"
	LeaveHTTPOut   Advice = "http"
)

// Text is the advice in words, with flags that have a prefix.
func (a Advice) Text(prefix string) string {
	switch a {
	case CorrectPort:
		return "start the server first, or correct the port"
	case LongerTimeout:
		return "give a longer --" + prefix + "timeout"
	case AnyCertificate:
		return "--" + prefix + "insecure accepts any certificate"
	case LeaveHTTPOut:
		return "leave --" + prefix + "http 2 out"
	}
	return ""
}

// cannotConnect names the host in an error of its connection.
func cannotConnect(host string, err error) error {
	e := plain(err)
	e.Err = fmt.Errorf("cannot connect to %s: %w", host, e.Err)
	return e
}

// plain is the reason why there is no connection, with what to do about it.
func plain(err error) *ConnectError {
	var known *ConnectError
	var errno syscall.Errno
	var dns *net.DNSError
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, syscall.ECONNREFUSED):
		return &ConnectError{syscall.ECONNREFUSED, CorrectPort}
	case errors.Is(err, context.DeadlineExceeded):
		return &ConnectError{errors.New("no answer in time"), LongerTimeout}
	case errors.As(err, &errno):
		return &ConnectError{Err: errno}
	case errors.As(err, &dns):
		return &ConnectError{Err: errors.New(dns.Err)}
	case errors.As(err, &unknown):
		return &ConnectError{unknown.Err, AnyCertificate}
	}
	return &ConnectError{Err: err}
}
