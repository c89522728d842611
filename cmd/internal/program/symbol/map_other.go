//go:build !unix

package symbol

import "os"

func mapFile(*os.File, int64) ([]byte, error) { return nil, errNoCache }
