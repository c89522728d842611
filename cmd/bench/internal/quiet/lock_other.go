//go:build !unix

package quiet

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }
