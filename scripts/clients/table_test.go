package clients

import (
	"path/filepath"
	"strconv"
)

// client is a library that people use, and the snippet that uses it.
type client struct {
	name     string   // as in docs/clients.md
	snippet  string   // the file
	build    []string // what compiles it, if anything must
	run      []string // the program; the host, and ports with commas between them, follow
	args     []string // what follows them
	protocol int      // that it must have spoken
	version  []string // prints the library's version; fails or prints nothing where there is none
	install  string   // how to get the library
}

const (
	byApt = "scripts/install-test-deps, or on Debian: apt-get install "
	byNpm = "scripts/install-test-deps, or npm ci in scripts/clients/node (needs Node.js 20)"
)

func clients() []client {
	return []client{
		{
			name:     "redis-cli",
			snippet:  "shell/limiter.sh",
			run:      []string{"sh", "shell/limiter.sh"},
			protocol: 2,
			version:  []string{"sh", "-c", "redis-cli --version | sed 's/redis-cli //'"},
			install:  byApt + "redis-tools",
		},
		goClient("go-redis", "goredis", "github.com/redis/go-redis/v9", 3),
		goClient("go-redis", "goredis", "github.com/redis/go-redis/v9", 2, "2"),
		goClient("rueidis", "rueidis", "github.com/redis/rueidis", 3),
		goClient("valkey-go", "valkeygo", "github.com/valkey-io/valkey-go", 3),
		goClient("redigo", "redigo", "github.com/gomodule/redigo", 2),
		goClient("radix", "radix", "github.com/mediocregopher/radix/v4", 2),
		nodeClient("node-redis 4", "node-redis.mjs", "redis-4", 2),
		nodeClient("node-redis 5", "node-redis.mjs", "redis-5", 2),
		nodeClient("node-redis 5", "node-redis.mjs", "redis-5", 3, "3"),
		nodeClient("node-redis 6", "node-redis.mjs", "redis-6", 3),
		nodeClient("node-redis 6", "node-redis.mjs", "redis-6", 2, "2"),
		nodeClient("ioredis 5", "ioredis.mjs", "ioredis-5", 2),
		nodeClient("ioredis 6", "ioredis.mjs", "ioredis-6", 3),
		nodeClient("iovalkey", "ioredis.mjs", "iovalkey", 2),
		nodeClient("valkey-glide", "valkey-glide.mjs", "@valkey/valkey-glide", 3),
		{
			name:    "redis-py",
			snippet: "python/limiter.py",
			// The system's Python, since Debian's package is not in another one.
			run:      []string{"/usr/bin/python3", "python/limiter.py"},
			protocol: 2,
			version:  []string{"/usr/bin/python3", "-c", "import redis; print(redis.__version__)"},
			install:  byApt + "python3-redis",
		},
		{
			name:     "redis-rb",
			snippet:  "ruby/limiter.rb",
			run:      []string{"ruby", "ruby/limiter.rb"},
			protocol: 2,
			version:  []string{"ruby", "-rredis", "-e", "puts Redis::VERSION"},
			install:  byApt + "ruby-redis",
		},
		{
			name:     "phpredis",
			snippet:  "php/limiter.php",
			run:      []string{"php", "php/limiter.php"},
			protocol: 2,
			version:  []string{"php", "-r", `echo (new ReflectionExtension("redis"))->getVersion();`},
			install:  byApt + "php-cli php-redis",
		},
		{
			name:     "hiredis",
			snippet:  "c/limiter.c",
			build:    []string{"gcc", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(bin, "hiredis"), "c/limiter.c", "-lhiredis"},
			run:      []string{filepath.Join(bin, "hiredis")},
			protocol: 2,
			version: []string{"sh", "-c", `printf '#include <hiredis/hiredis.h>\nHIREDIS_MAJOR.HIREDIS_MINOR.HIREDIS_PATCH' |
				gcc -E -P - | tail -1 | tr -d ' '`},
			install: byApt + "gcc libc6-dev libhiredis-dev",
		},
		{
			name:     "Perl's Redis",
			snippet:  "perl/limiter.pl",
			run:      []string{"perl", "perl/limiter.pl"},
			protocol: 2,
			version:  []string{"perl", "-MRedis", "-e", "print Redis->VERSION"},
			install:  byApt + "libredis-perl",
		},
	}
}

// goClient is a command below go, built by TestMain.
func goClient(name, command, module string, protocol int, args ...string) client {
	return client{
		name:     name,
		snippet:  "go/" + command + "/main.go",
		run:      []string{filepath.Join(bin, command)},
		args:     args,
		protocol: protocol,
		version:  []string{"go", "list", "-m", "-f", "{{.Version}}", module},
		install:  "it is in go.mod",
	}
}

// nodeClient is a script below node, run with the package of that name, which
// may be one of several versions of one library. Old versions of Node.js lack
// what some of the packages need.
func nodeClient(name, script, library string, protocol int, args ...string) client {
	return client{
		name:     name,
		snippet:  "node/" + script,
		run:      []string{"node", "node/" + script},
		args:     append([]string{library}, args...),
		protocol: protocol,
		version: []string{"node", "-e", `if (parseInt(process.versions.node) < 20) process.exit(1);
			console.log(require(` + strconv.Quote("./node/node_modules/"+library+"/package.json") + `).version)`},
		install: byNpm,
	}
}
