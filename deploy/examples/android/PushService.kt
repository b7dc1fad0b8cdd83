package com.example.shop

import android.Manifest
import android.annotation.SuppressLint
import android.app.NotificationChannel
import android.app.NotificationManager
import android.content.Context
import android.content.pm.PackageManager
import androidx.core.app.NotificationCompat
import androidx.core.app.NotificationManagerCompat
import androidx.core.content.ContextCompat
import androidx.work.BackoffPolicy
import androidx.work.Constraints
import androidx.work.CoroutineWorker
import androidx.work.ExistingWorkPolicy
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequestBuilder
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import androidx.work.workDataOf
import com.google.firebase.messaging.FirebaseMessaging
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.util.Locale
import java.util.TimeZone
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import org.json.JSONException
import org.json.JSONObject

/**
 * Sends the Firebase installation id (FID) to your backend (PUT /push/device, as in server.mjs), and shows pushes while
 * the app is open. Needs firebase-messaging 25.1.2 or newer, and minSdk 26.
 *
 * In the manifest:
 *
 *     <uses-permission android:name="android.permission.POST_NOTIFICATIONS" />
 *     <meta-data android:name="firebase_messaging_installation_id_enabled" android:value="true" />
 *     <service android:name=".PushService" android:exported="false">
 *         <intent-filter><action android:name="com.google.firebase.MESSAGING_EVENT" /></intent-filter>
 *     </service>
 */
@SuppressLint("MissingFirebaseInstanceTokenRefresh")
class PushService : FirebaseMessagingService() {
    /** Called after each register(), also with the id of before, and when the id changed. From then on, FCM refuses the old token. */
    override fun onRegistered(installationId: String) = RegisterDevice.enqueue(this, installationId)

    /**
     * Called for messages. While the app is in the background, Android itself shows a message that has a notification, and
     * this is not called: only messages that consist of data report "received" and "shown" in any state.
     */
    override fun onMessageReceived(message: RemoteMessage) {
        val handle = message.data[PushReports.HANDLE]
        PushReports.add(this, handle, "received")
        val title = message.notification?.title ?: message.data["title"] ?: return
        val isAllowed = ContextCompat.checkSelfPermission(this, Manifest.permission.POST_NOTIFICATIONS)
        if (isAllowed != PackageManager.PERMISSION_GRANTED) return
        val manager = NotificationManagerCompat.from(this)
        manager.createNotificationChannel(NotificationChannel("orders", "Orders", NotificationManager.IMPORTANCE_HIGH))
        val builder = NotificationCompat.Builder(this, "orders")
            // Use a white icon of your own: an adaptive icon, as launchers show, crashes the status bar of Android 8.
            .setSmallIcon(android.R.drawable.stat_notify_chat)
            .setContentTitle(title)
            .setContentText(message.notification?.body ?: message.data["body"])
            .setAutoCancel(true)
        // A newer push about the same order replaces the older one.
        val tag = message.data["order"] ?: message.collapseKey.takeIf { it != packageName } ?: message.messageId
        PushActions.attach(this, builder, handle, tag)
        manager.notify(tag, 0, builder.build())
        // People can block all notifications of the app, or this channel.
        val isBlocked = manager.getNotificationChannel("orders")?.importance == NotificationManager.IMPORTANCE_NONE
        if (manager.areNotificationsEnabled() && !isBlocked) PushReports.add(this, handle, "shown")
    }
}

/** Registers the device once a network is available, and retries until it succeeds. */
class RegisterDevice(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result = withContext(Dispatchers.IO) {
        val id = inputData.getString("id") ?: return@withContext Result.failure()
        // No user has signed in: the work is enqueued again after signing in.
        val session = Session.token(applicationContext) ?: return@withContext Result.failure()
        val kept = applicationContext.getSharedPreferences("push", Context.MODE_PRIVATE)
        // From an older version of the app, this is a registration token.
        val last = kept.getString("token", null)
        val device = JSONObject()
            .put("provider", "fcm")
            .put("token", id)
            .put("address", "fid")
            .put("permission", if (isAllowed(applicationContext)) "authorized" else "denied")
            .put("locale", Locale.getDefault().toLanguageTag())
            .put("time_zone", TimeZone.getDefault().id)
        // The device keeps its topics.
        if (last != null && last != id) device.put("replaces", last)
        try {
            // While a sign-out waits for this, it then unregisters the device.
            synchronized(lock) {
                if (kept.getString("ended", null) == session) return@withContext Result.failure()
                val (status, answer) = send("PUT", "/push/device", device, session)
                when (status) {
                    in 200..299 -> {
                        kept.edit().putString("token", id).apply()
                        if (answer.has("report_key")) PushReports.setKey(applicationContext, answer.getString("report_key"))
                        Result.success()
                    }
                    429, in 500..599 -> Result.retry()
                    else -> Result.failure()
                }
            }
        } catch (error: IOException) {
            Result.retry()
        }
    }

    companion object {
        private val lock = Any()

        /** Call it at each start of the app, and after signing in. */
        fun refresh() {
            // PushService.onRegistered gets the id.
            FirebaseMessaging.getInstance().register()
        }

        private fun isAllowed(context: Context) = NotificationManagerCompat.from(context).areNotificationsEnabled()

        fun enqueue(context: Context, id: String) {
            val work = OneTimeWorkRequestBuilder<RegisterDevice>()
                .setInputData(workDataOf("id" to id))
                .setConstraints(Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
                .setBackoffCriteria(BackoffPolicy.EXPONENTIAL, 30, TimeUnit.SECONDS)
                .build()
            // Only the newest id counts.
            WorkManager.getInstance(context).enqueueUniqueWork("push-token", ExistingWorkPolicy.REPLACE, work)
        }

        /** Call it before the session ends, off the main thread, because another user may sign in on this phone. */
        @Throws(IOException::class)
        fun signOut(context: Context, session: String) {
            val kept = context.getSharedPreferences("push", Context.MODE_PRIVATE)
            synchronized(lock) {
                PushReports.clear(context)
                val token = kept.getString("token", null)
                val body = JSONObject().put("provider", "fcm").put("token", token)
                val status = if (token == null) 204 else send("POST", "/push/sign-out", body, session).first
                if (status in 200..299) kept.edit().remove("token").putString("ended", session).commit()
            }
        }

        /** Sends a request and returns status and JSON of the answer; without JSON, an empty object. */
        @Throws(IOException::class)
        private fun send(method: String, path: String, body: JSONObject, session: String): Pair<Int, JSONObject> {
            val connection = URL(Session.BACKEND + path).openConnection() as HttpURLConnection
            try {
                connection.requestMethod = method
                connection.connectTimeout = 10_000
                connection.readTimeout = 10_000
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.setRequestProperty("Authorization", "Bearer $session")
                connection.outputStream.use { it.write(body.toString().toByteArray()) }
                val status = connection.responseCode
                val text = if (status == 200) connection.inputStream.use { it.reader().readText() } else "{}"
                return Pair(status, JSONObject(text))
            } catch (error: JSONException) {
                // Such as a page of a Wi-Fi that asks for a login.
                throw IOException("$path: no JSON", error)
            } finally {
                connection.disconnect()
            }
        }
    }
}

/** The address of your backend and the user's session; replace them with yours. */
object Session {
    const val BACKEND = "https://shop.example.com"

    fun token(context: Context): String? = context.getSharedPreferences("session", Context.MODE_PRIVATE).getString("token", null)
}
