package input

// What folio reads of others costs at most this. A program, a result or a profile can
// be made so that it claims, or unpacks to, any size; whoever looks at it, perhaps as
// root, must not pay for that. Real files are below these bounds, by far.
//
// Together they keep each command that looks at another's file or process below
// 256 MiB, those that read results and profiles below 512 MiB; the tests of the
// command check that with a file made to harm for each of them.
const (
	// MaxResult bounds a result or benchmark text, in bytes.
	MaxResult = 64 << 20
	// MaxObjects and MaxValues bound the objects and lists, and the values, of a
	// result, each of which takes memory of its own: 64 MiB of "{}," would be 22
	// million objects. MaxRows bounds the different figures of benchmark text, MaxKeys
	// the keys of its configuration.
	MaxObjects, MaxValues, MaxRows, MaxKeys = 180_000, 2_000_000, 1 << 15, 1000
	// MaxSource bounds a source file of which a line is shown, MaxSources all of them.
	MaxSource, MaxSources = 8 << 20, 32 << 20

	// MaxBody bounds the body of a request that a load sends.
	MaxBody = 64 << 20

	// MaxProfile bounds a pprof profile, once decompressed, and MaxProfileMemory what
	// its messages take when they are read.
	MaxProfile, MaxProfileMemory = 64 << 20, 384 << 20

	// MaxProc bounds one file of /proc, and MaxArguments a command line, which a
	// process can make as long as it likes (PR_SET_MM_MAP), and of which only the
	// beginning is of interest.
	MaxProc, MaxArguments = 64 << 20, 64 << 10
	// MaxEnvironment bounds the environment of a process: the kernel allows 6 MiB at
	// its start, and the process can say later that it is anywhere.
	MaxEnvironment = 8 << 20
	// MaxMappings bounds the mappings of a process, of which the kernel allows 65530
	// if nobody raises that (vm.max_map_count), and MaxMappingNames the bytes in
	// their names.
	MaxMappings, MaxMappingNames = 1 << 18, 32 << 20

	// MaxGoHeap bounds the heap of a Go process whose pages are looked at, in bytes: a
	// byte is kept for 8 KiB. MaxGoSpans bounds its spans, live and dead.
	MaxGoHeap, MaxGoSpans = 1 << 40, 1 << 27
	// MaxGoSites bounds the records of the heap profile of a Go process, and MaxGoSiteFrames
	// the addresses in their stacks.
	MaxGoSites, MaxGoSiteFrames = 1 << 18, 1 << 23

	// An ELF file: its segments, its sections, the bytes in the names of those.
	MaxSegments, MaxSections, MaxSectionNames = 4096, 1 << 16, 4 << 20
	// MaxSection bounds a section that is read whole, after decompression: the types
	// of a Go program (.debug_info) are some MiB, of the largest 100.
	MaxSection = 128 << 20
	// MaxAbbreviations bounds the descriptions of its entries (.debug_abbrev), and
	// MaxUnitAbbreviations those of one unit.
	MaxAbbreviations, MaxUnitAbbreviations = 16 << 20, 64 << 10
	// MaxUnits bounds the units of .debug_info, which are the packages of a Go program.
	MaxUnits = 1 << 18
	// MaxSearch bounds how much of a file is searched for what no header tells, such
	// as the tables of a program without section headers: a file may have holes of
	// terabytes, which are read as zeros.
	MaxSearch = 2 << 30
	// MaxProgram bounds a program that is copied, in bytes: the largest of Go have some
	// GiB, and copying a hole fills the disk.
	MaxProgram = 16 << 30
	// MaxSymbols bounds the functions of a symbol table that are kept: a browser has
	// a million.
	MaxSymbols = 4 << 20
	// MaxKept bounds what a profile keeps of all the files that it takes symbols from,
	// in bytes, and MaxObjectFiles how many that are.
	MaxKept, MaxObjectFiles = 128 << 20, 1024

	// MaxBuild bounds the build information of a program (modules and settings),
	// MaxBuildSearch how much of it is searched for that, and MaxVersion the version
	// of Go in it.
	MaxBuild, MaxBuildSearch, MaxVersion = 4 << 20, 64 << 20, 256
)
