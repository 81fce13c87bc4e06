// SPDX-License-Identifier: Apache-2.0
/* Words for a device of the lab: each line is answered, and nobody who talks otherwise holds up the device. */
#include "unit.h"
#include "tests/rig/devices/control.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct scene {
	struct control control;
	char dir[32], path[64];
	char obeyed[256];
	unsigned int answer_bytes;
};

/* Takes words that begin with "do", and says as much as it is to. */
static bool obey(void *device, const char *line, FILE *answer)
{
	struct scene *scene = device;

	if (strncmp(line, "do", 2))
		return false;
	strcat(scene->obeyed, line);
	strcat(scene->obeyed, "|");
	for (unsigned int i = 0; i < scene->answer_bytes; i += 16)
		fputs("fifteen letters\n", answer);
	return true;
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	strcpy(scene->dir, "/tmp/control.XXXXXX");
	assert_non_null(mkdtemp(scene->dir));
	snprintf(scene->path, sizeof(scene->path), "%s/words", scene->dir);
	assert_int_equal(control_listen(&scene->control, scene->path, obey, scene), 0);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < CONTROL_CLIENTS; i++)
		if (scene->control.clients[i].socket >= 0)
			close(scene->control.clients[i].socket);
	close(scene->control.listener);
	unlink(scene->path);
	rmdir(scene->dir);
	free(scene);
	return 0;
}

static void pump(struct scene *scene)
{
	struct pollfd polled[CONTROL_CLIENTS + 1];

	for (;;) {
		control_wants(&scene->control, polled);
		if (poll(polled, CONTROL_CLIENTS + 1, 0) <= 0)
			return;
		control_serve(&scene->control, polled);
	}
}

static int join(struct scene *scene)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, scene->path);
	assert_return_code(connect(fd, (struct sockaddr *)&address, sizeof(address)), errno);
	pump(scene);
	return fd;
}

static void talk(struct scene *scene, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	pump(scene);
}

/* What is there to read; "gone" if the other end is. */
static const char *heard(int fd)
{
	static char text[512];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN))
		return "gone";
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static unsigned int clients(const struct scene *scene)
{
	unsigned int count = 0;

	for (int i = 0; i < CONTROL_CLIENTS; i++)
		count += scene->control.clients[i].socket >= 0;
	return count;
}

static void words_are_answered(void **state)
{
	struct scene *scene = *state;
	int fd = join(scene);

	scene->answer_bytes = 32;
	talk(scene, fd, "do this\n");
	assert_string_equal(heard(fd), "fifteen letters\nfifteen letters\nok\n");
	talk(scene, fd, "undo\n");
	assert_string_equal(heard(fd), "error unknown word\n");
	assert_string_equal(scene->obeyed, "do this|");
	close(fd);
	pump(scene);
	assert_int_equal(clients(scene), 0);
}

static void lines_come_in_pieces_and_several_at_once(void **state)
{
	struct scene *scene = *state;
	int fd = join(scene);

	talk(scene, fd, "do");
	assert_string_equal(heard(fd), "");
	talk(scene, fd, " it\ndo it again\n\ndo");
	assert_string_equal(heard(fd), "ok\nok\nerror unknown word\n");
	talk(scene, fd, "\n");
	assert_string_equal(scene->obeyed, "do it|do it again|do|");
	close(fd);
}

/* And one word of it is not obeyed. */
static void a_line_without_end_ends_it(void **state)
{
	struct scene *scene = *state;
	int fd = join(scene);
	char line[CONTROL_LINE + 1];

	memset(line, 'd', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	talk(scene, fd, line);
	assert_int_equal(clients(scene), 1);
	assert_int_equal(send(fd, "o\n", 2, MSG_NOSIGNAL), 2);
	pump(scene);
	assert_int_equal(clients(scene), 0);
	assert_string_equal(scene->obeyed, "");
	close(fd);
}

static void there_is_room_for_some(void **state)
{
	struct scene *scene = *state;
	int fds[CONTROL_CLIENTS + 1];

	for (int i = 0; i <= CONTROL_CLIENTS; i++)
		fds[i] = join(scene);
	assert_string_equal(heard(fds[CONTROL_CLIENTS]), "gone");
	for (int i = 0; i < CONTROL_CLIENTS; i++) {
		talk(scene, fds[i], "do\n");
		assert_string_equal(heard(fds[i]), "ok\n");
	}
	close(fds[0]);
	pump(scene);
	close(fds[CONTROL_CLIENTS]);
	fds[0] = join(scene);
	talk(scene, fds[0], "do\n");
	assert_string_equal(heard(fds[0]), "ok\n");
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		close(fds[i]);
}

/* The device does not wait for who does not listen. */
static void who_does_not_listen_is_dropped(void **state)
{
	struct scene *scene = *state;
	int deaf = join(scene), other = join(scene);

	scene->answer_bytes = 64 << 20;
	talk(scene, deaf, "do\n");
	assert_int_equal(clients(scene), 1);
	scene->answer_bytes = 0;
	talk(scene, other, "do\n");
	assert_string_equal(heard(other), "ok\n");
	close(deaf);
	close(other);
}

static void a_path_is_taken_once(void **state)
{
	struct scene *scene = *state;
	struct control second;
	char longer[200];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(control_listen(&second, scene->path, obey, scene), -EADDRINUSE);
	assert_int_equal(control_listen(&second, longer, obey, scene), -ENAMETOOLONG);
	assert_int_equal(control_listen(&second, "/nowhere/at/all", obey, scene), -ENOENT);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_answered), TEST(lines_come_in_pieces_and_several_at_once), TEST(a_line_without_end_ends_it),
		TEST(there_is_room_for_some), TEST(who_does_not_listen_is_dropped), TEST(a_path_is_taken_once),
	};

	return cmocka_run_group_tests_name("device control", tests, NULL, NULL);
}
